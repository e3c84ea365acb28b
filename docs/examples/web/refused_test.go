package trueup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A name that the host would not take is refused before anything is done.
func names(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	s.stop()
	long := strings.Repeat("x", 200)
	for _, name := range []string{"../sentinel", "a/b", ".hidden", "-r", "two words", "ä", "a\"b", long + "x"} {
		if ticket, err := d.ask("request", s, "command:web", name); !has(err, "letters, digits") {
			t.Errorf("%q: %q, %v", name, ticket, err)
		}
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("refused, and in the spool there is %q", asked)
	}
	d.get("request", s, long, "Command:web-1.example_org@2")
	if asked := s.asked(); len(asked) != 2 {
		t.Errorf("asked for two, and in the spool there is %q", asked)
	}
}

// What is no ticket is an error: as one of an epoch that never was every success would cover it.
func tickets(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	for _, ticket := range []string{"7", ":7", "EPOCHEPOCH", "EPOCHEPOCH:", "EPOCHEPOCH:x", "EPOCHEPOCH:-1", "EPOCHEPOCH:7 ", "epochepoch:7",
		"EPOCH:7", "EPOCHEPOC1:7", "EPOCHEPOCHE:7", "EPOCHEPOCH:7:7", "EPOCHEPOCH:9999999999999999"} {
		if answer, err := d.ask("covered", s, ticket); !has(err, "EPOCH:N") {
			t.Errorf("%q: %q, %v", ticket, answer, err)
		}
	}
}

// What cannot be read is never an answer, and nobody asks without a ticket.
func strangeOutbox(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	ticket := d.get("request", s)
	until(t, "it is covered", func() bool { return d.get("covered", s, ticket) == "true" })
	s.stop()
	status := filepath.Join(s.outbox, "status.json")
	whole, err := os.ReadFile(status)
	check(t, err)
	refused := func(what, says string) {
		t.Helper()
		for _, args := range [][]string{{"covered", ticket}, {"state", ticket}, {"request"}} {
			if answer, err := d.ask(args[0], s, args[1:]...); !has(err, says, status) {
				t.Errorf("%s: %s says %q, %v; want an error with %q and %s", what, args[0], answer, err, says, status)
			}
		}
	}
	for _, key := range []string{"version", "epoch", "claims", "settled", "state"} {
		s.show(func(fields map[string]any) { delete(fields, key) })
		refused("without "+key, key)
		check(t, os.WriteFile(status, whole, 0o644))
	}
	s.show(func(fields map[string]any) { fields["version"] = 2 })
	refused("of a newer version", "version 2")
	for key, odd := range map[string]any{"version": "1", "epoch": 7, "claims": "7", "settled": []int{9}, "state": map[string]int{}} {
		s.show(func(fields map[string]any) { fields[key] = odd })
		refused(fmt.Sprintf("with the %s %v", key, odd), "reading")
		check(t, os.WriteFile(status, whole, 0o644))
	}
	for _, odd := range []string{`{"settled": "x"}`, `{"settled": [9]}`, `"x"`, `{"settled": 1e999}`} {
		settled := fmt.Sprintf(`{"version": 1, "epoch": %q, "claims": 9, "settled": 0, "state": "idle", "targets": {"command:web": %s}}`, ticket[:10], odd)
		check(t, os.WriteFile(status, []byte(settled), 0o644))
		if answer, err := d.ask("covered", s, ticket, "command:web"); err == nil && answer != "false" {
			t.Errorf("the target %s covers", odd)
		}
	}
	huge := fmt.Sprintf(`{"version": 1, "epoch": %q, "claims": 9, "settled": 1e999, "state": "idle"}`, ticket[:10])
	for _, text := range []string{huge, strings.Repeat("[", 100_000), "", string(whole[:len(whole)/2]), "null", "[]", "7", "nonsense"} {
		check(t, os.WriteFile(status, []byte(text), 0o644))
		refused(fmt.Sprintf("%q", text), "reading")
	}
	check(t, os.Remove(status))
	refused("without status.json", "outbox")
	check(t, os.Remove(s.outbox))
	refused("without the outbox", "outbox")
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("refused, and in the spool there is %q", asked)
	}
}

func closedSpool(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	s.stop()
	refused := func(why string, targets ...string) {
		t.Helper()
		ticket, err := d.ask("request", s, targets...)
		if !has(err, why, s.spool, "spool, which is to be mounted") {
			t.Errorf("%q: %q, %v; want an error with %q", targets, ticket, err, why)
		}
	}
	check(t, unix.Mount(s.spool, s.spool, "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(s.spool, unix.MNT_DETACH) }()
	check(t, unix.Mount("", s.spool, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	refused("ead-only file system")
	refused("ead-only file system", "command:web")
	check(t, unix.Unmount(s.spool, 0))
	check(t, os.RemoveAll(s.spool+"/requests"))
	refused("requests", "command:web")
	check(t, os.Remove(s.spool))
	refused("")
	refused("", "command:web")
	if _, err := os.Stat(s.spool); err == nil {
		t.Error("a spool was made that no host watches")
	}
}

// Whatever stands as the sentinel asks as well, is not followed, not opened, not written to; nobody is led out of the spool.
func plantedSpool(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	s.stop()
	s.put("outside", "untouched")
	check(t, os.Mkdir(s.dir+"/elsewhere", 0o755))
	for _, name := range []string{"sentinel", "requests/command:web"} {
		targets := []string{"command:web"}
		if name == "sentinel" {
			targets = nil
		}
		path := filepath.Join(s.spool, name)
		// One after the other at the same place: a process must not go by what it has seen there before.
		for _, plant := range []struct {
			what string
			make func() error
		}{
			{"a file", func() error { return os.WriteFile(path, []byte("anothers"), 0o444) }},
			{"a dangling link", func() error { return os.Symlink(s.dir+"/nowhere", path) }},
			{"a folder", func() error { return os.Mkdir(path, 0o755) }},
			{"a link", func() error { return os.Symlink(s.dir+"/outside", path) }},
			{"a FIFO", func() error { return unix.Mkfifo(path, 0o644) }},
		} {
			check(t, plant.make())
			if _, err := d.ask("request", s, targets...); err != nil {
				t.Errorf("%s as %s: %v", plant.what, name, err)
			}
			if plant.what == "a file" {
				if text, _ := os.ReadFile(path); string(text) != "anothers" {
					t.Errorf("%s is now %q", name, text)
				}
			}
			check(t, os.Remove(path))
		}
	}
	d.get("request", s, "command:web")
	check(t, os.RemoveAll(s.spool+"/requests"))
	check(t, os.Symlink(s.dir+"/elsewhere", s.spool+"/requests"))
	if _, err := d.ask("request", s, "command:web"); err == nil {
		t.Error("a link as requests/ is followed")
	}
	made, _ := os.ReadDir(s.dir + "/elsewhere")
	_, err := os.Lstat(s.dir + "/nowhere")
	if text, _ := os.ReadFile(s.dir + "/outside"); err == nil || len(made) > 0 || string(text) != "untouched" {
		t.Error("something outside the spool was touched")
	}
}
