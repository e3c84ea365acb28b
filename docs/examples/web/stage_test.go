package trueup_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"trueup/reconcile/trigger"
)

// A stage is a host: three folders, a real trigger over them, and a run that makes live what it reads in the database. The run
// reads first and writes last, and in between waits for a leave, so that a test holds it where it wants.
type stage struct {
	t                         *testing.T
	dir, spool, state, outbox string
	trueup                    string
	command                   []string
	watch                     *exec.Cmd
}

const run = `set -e
cp database read
echo "$TRUEUP_CLAIM" >reading
until [ -e free ] || rm leave 2>/dev/null; do sleep 0.02; done
[ ! -e broken ]
mv read live
`

func newStage(t *testing.T, trueup string) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, dir: dir, spool: filepath.Join(dir, "spool"), state: filepath.Join(dir, "state"), outbox: filepath.Join(dir, "outbox"),
		trueup: trueup, command: []string{"sh", "-c", run}}
	s.put("database", "")
	return s
}

// start starts the watch, whose first run everybody waits for: before it there is no requests/.
func (s *stage) start() {
	s.t.Helper()
	args := []string{"watch", "--floor", "100ms", "--retry-max", "200ms",
		"--spool", s.spool, "--state", s.state, "--outbox", s.outbox, "--"}
	s.watch = exec.Command(s.trueup, append(args, s.command...)...)
	s.watch.Dir = s.dir
	var said strings.Builder
	s.watch.Stdout, s.watch.Stderr = &said, &said
	check(s.t, s.watch.Start())
	s.t.Cleanup(func() {
		s.stop()
		if s.t.Failed() {
			s.t.Logf("the watch:\n%s", &said)
		}
	})
}

// settled starts the watch and returns after its first success.
func (s *stage) settled() {
	s.t.Helper()
	s.put("free", "")
	s.start()
	until(s.t, "the first run has succeeded", func() bool {
		shown, err := trigger.ReadStatus(s.outbox)
		return err == nil && shown.Settled > 0 && shown.State == trigger.Idle
	})
}

func (s *stage) stop() {
	if s.watch == nil {
		return
	}
	_ = s.watch.Process.Signal(syscall.SIGTERM)
	_ = s.watch.Wait()
	s.watch = nil
}

func (s *stage) put(name, text string) {
	s.t.Helper()
	check(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
}

func (s *stage) remove(name string) {
	s.t.Helper()
	check(s.t, os.RemoveAll(filepath.Join(s.dir, name)))
}

// commit writes a row to the database, as a transaction does.
func (s *stage) commit(row string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, "database"), os.O_APPEND|os.O_WRONLY, 0)
	check(s.t, err)
	_, err = f.WriteString(row + "\n")
	check(s.t, err)
	check(s.t, f.Close())
}

// live tells whether the host follows a row.
func (s *stage) live(row string) bool {
	text, _ := os.ReadFile(filepath.Join(s.dir, "live"))
	return strings.Contains("\n"+string(text), "\n"+row+"\n")
}

// reading waits until a run has read the database, one that had not before.
func (s *stage) reading() {
	s.t.Helper()
	until(s.t, "a run has read", func() bool { _, err := os.Stat(filepath.Join(s.dir, "reading")); return err == nil })
	s.remove("reading")
}

func (s *stage) shown() trigger.Status {
	s.t.Helper()
	shown, err := trigger.ReadStatus(s.outbox)
	check(s.t, err)
	return shown
}

// show changes what the outbox shows.
func (s *stage) show(change func(map[string]any)) {
	s.t.Helper()
	path := filepath.Join(s.outbox, "status.json")
	text, err := os.ReadFile(path)
	check(s.t, err)
	var fields map[string]any
	check(s.t, json.Unmarshal(text, &fields))
	change(fields)
	text, err = json.MarshalIndent(fields, "", "  ")
	check(s.t, err)
	check(s.t, os.WriteFile(path, text, 0o644))
}

// asked is what stands in the spool, and asks for a run.
func (s *stage) asked() (names []string) {
	s.t.Helper()
	if _, err := os.Lstat(filepath.Join(s.spool, "sentinel")); err == nil {
		names = append(names, "sentinel")
	}
	entries, _ := os.ReadDir(filepath.Join(s.spool, "requests"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
