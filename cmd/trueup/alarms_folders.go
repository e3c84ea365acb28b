package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"trueup/reconcile/publish"
)

// checkUnit looks for alarms, and has some of its own.
const checkUnit = "trueup-check.service"

// alarmsFolders are where it is remembered which alarms stand; where the disk takes no more, it is in memory until the boot.
func alarmsFolders(user bool) (publish.Folders, error) {
	const name = "trueup-check"
	if !user {
		return publish.Folders{"/var/lib/" + name, "/run/" + name}, nil
	}
	home, err := os.UserHomeDir()
	folders := publish.Folders{filepath.Join(home, ".local/state", name)}
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		folders = append(folders, filepath.Join(run, name))
	}
	return folders, err
}

// lookAtOwn is what is wrong with where alarms are remembered; refused is why it could not be held.
func (w watchman) lookAtOwn(refused error, before *publish.Memory) []publish.Alarm {
	id, times := publish.ID{Name: publish.Disk, Unit: checkUnit}, uint64(1)
	if slices.ContainsFunc(before.Standing(), func(s publish.Standing) bool { return s.ID == id }) {
		times = 2
	}
	what := fillingDir(w.folders[0], times)
	if what.What == "" && refused != nil {
		what = finding{oneLine(refused), "findmnt -T " + quoted(w.folders[0])}
	}
	if what.What == "" {
		return nil
	}
	return []publish.Alarm{{ID: id, Text: what.What, Do: what.Do}}
}

// filling are the folders that are full or nearly so, or that nobody can write to. What was so stays so until there is
// twice the room, lest the alarm come and go.
func (f facts) filling(was bool) (found []finding) {
	times := uint64(1)
	if was {
		times = 2
	}
	dirs := map[string]bool{f.folders.Spool: true, f.folders.State: true, f.folders.Outbox: true}
	if f.site != nil {
		for _, dir := range f.site.written {
			dirs[dir] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		if what := fillingDir(path, times); what.What != "" {
			found = append(found, what)
		}
	}
	return found
}

func fillingDir(path string, times uint64) finding {
	d := dirFacts{path: path}.look(nil)
	if path == "" || d.err != nil {
		return finding{} // which the folder's rule tells
	}
	what, do := d.cramped(times)
	if err := full(d.disk); err != nil {
		what = fmt.Sprintf("%s: %v", path, err)
	} else if err := readOnly(path); err != nil {
		what, do = fmt.Sprintf("%s: %v", path, err), "findmnt -T "+quoted(path)
	}
	return finding{what, do}
}
