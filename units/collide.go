package units

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// refuseShared refuses folders that another adopted unit has, or that lie in one another: two gates would take
// each other's requests, and a state folder inside a spool is the web app's.
func refuseShared(a Adoption, others []record) error {
	mine := a.named()
	for i, x := range mine {
		for _, y := range mine[i+1:] {
			if overlap(x.path, y.path) {
				return &Refusal{Unit: a.Unit, Reason: fmt.Sprintf("its %s %s and its %s %s lie in one another", x.role, x.path, y.role, y.path),
					Hint: "give three folders side by side"}
			}
		}
	}
	for _, other := range others {
		if other.Unit == a.Unit {
			continue
		}
		for _, x := range mine {
			for _, y := range other.named() {
				if overlap(x.path, y.path) {
					return &Refusal{Unit: a.Unit, Reason: fmt.Sprintf("its %s %s is the %s of %s", x.role, x.path, y.role, other.Unit),
						Hint: "give each unit folders of its own, or unadopt " + other.Unit}
				}
			}
		}
	}
	return nil
}

type namedFolder struct{ role, path string }

func (a Adoption) named() []namedFolder {
	return []namedFolder{{"spool", a.Folders.Spool}, {"state", a.Folders.State}, {"outbox", a.Folders.Outbox}}
}

// overlap tells whether two folders are one, or one lies in the other, by name or, through links and bind mounts,
// in fact.
func overlap(a, b string) bool {
	a, b = resolved(a), resolved(b)
	return within(a, b) || within(b, a) || inside(a, b) || inside(b, a)
}

type inode struct{ dev, ino uint64 }

// inside tells whether dir is path or one of its ancestors, comparing what they are.
func inside(path, dir string) bool {
	want, ok := inodeOf(dir)
	if !ok {
		return false
	}
	for ; ; path = filepath.Dir(path) {
		if got, ok := inodeOf(path); ok && got == want {
			return true
		}
		if path == "/" || path == "." {
			return false
		}
	}
}

func inodeOf(path string) (inode, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return inode{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return inode{uint64(stat.Dev), stat.Ino}, ok
}
