package trigger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// watchSpool returns a channel that is closed at the first change in the spool or on the way to it. Blind means that
// not all of it can be watched, so that it has to be looked at as well. requests/ is watched through its descriptor: by
// path, a link planted there would be followed.
func watchSpool(path string) (changed <-chan struct{}, blind bool, stop func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, true, func() {}
	}
	way, err := watchWay(w, path)
	blind = err != nil
	s := openSpool(path)
	defer s.close()
	if s.opened == nil {
		if requests, err := s.sub(requestsName); err == nil {
			defer requests.close()
			blind = w.Add(fmt.Sprintf("/proc/self/fd/%d", requests.fd())) != nil || blind
		}
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		for {
			select {
			case e, open := <-w.Events:
				if open && way.passesBy(e) {
					continue
				}
			case <-w.Errors:
			}
			return
		}
	}()
	return first, blind, func() { w.Close() }
}

// A way is how a path leads to its folder, links resolved. A watch is of the folder that was found, and hears nothing
// more once another one, or another link, stands at the path: that is heard in the folders above.
type way struct {
	through map[string]bool // the folders above
	entries map[string]bool // what the path follows in them
}

// passesBy tells whether a change is about something else in a folder on the way.
func (w way) passesBy(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	return w.through[filepath.Dir(name)] && !w.entries[name]
}

// watchWay watches the folder and the way to it, as far as there is one and it may be read. The folders above are the
// operator's, and so are their links. Each is watched before it is looked at, so that no change falls in between.
func watchWay(w *fsnotify.Watcher, path string) (way, error) {
	const links = 40 // as the kernel's own bound
	found := way{map[string]bool{}, map[string]bool{}}
	var unwatched error
	at, rest := "/", strings.Split(path, "/")
	for left := links; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." || name == ".." {
			at = filepath.Join(at, name) // a folder, and no link
			continue
		}
		if err := w.Add(at); err != nil {
			unwatched = err
		}
		entry := filepath.Join(at, name)
		found.through[at], found.entries[entry] = true, true
		target, err := os.Readlink(entry)
		if err != nil { // no link, or nothing there
			at = entry
			continue
		}
		if left--; left == 0 {
			return found, unix.ELOOP
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if err := w.Add(at); err != nil {
		unwatched = err
	}
	return found, unwatched
}
