package protocol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// The hostile cases run with a short floor and a sweep of seconds, so that "within one sweep" is soon.
const (
	hostileFloor = time.Second
	hostileSweep = 4 * time.Second
	busy         = 30 * time.Second
)

// A victim is a host whose spool is written by somebody hostile.
type victim struct {
	*host
	place  place
	bait   string // a folder outside the spool, as links in the spool name it
	canary string // the same, as this process reaches it
	uid    int    // whom the gate runs as
	number int    // the last one committed
}

// patience is how long an honest touch may take whatever happened before it: one sweep, the floor or a backoff that
// stands in its way, and what a very busy machine adds.
func (v *victim) patience() time.Duration { return hostileSweep + 2*v.policy.Floor + busy }

// victimise adopts a counter and lays out the bait.
func victimise(t *testing.T, p place, o options) *victim {
	t.Helper()
	o.timer = true
	if o.policy.Floor == 0 {
		o.policy.Floor = hostileFloor
	}
	o.policy.RetryMax, o.policy.Sweep = 2*o.policy.Floor, hostileSweep
	v := &victim{place: p}
	g := manager(p)
	inside := o.name
	if g != nil && !g.IsUser() {
		// Not below /root, so that a counter with a User= of its own can get there.
		inside = "/srv/" + o.name
		v.uid = v.makeHome(t, g, inside, o.service)
		o.service += "\nExecStart=\nExecStart=/usr/local/bin/counter " + inside + " " + folders("/var/lib/trueup/"+o.name).State
	}
	v.host = p.adopt(t, o)
	if g != nil {
		shorten(t, g, o.name)
	}
	switch {
	case g == nil:
		v.bait = filepath.Join(v.dir, "bait")
		v.canary = v.bait
	case g.IsUser():
		v.uid, _ = g.Owner()
		v.bait = filepath.Join(g.Home(), "counters", o.name, "bait")
		v.canary = filepath.Join(v.dir, "bait")
	default:
		v.dir = g.Machine().Path(inside)
		v.commit(t, 0)
		v.bait = filepath.Join(inside, "bait")
		v.canary = filepath.Join(v.dir, "bait")
	}
	v.layBait(t)
	return v
}

// shorten makes the sweep one of seconds, as an operator would.
func shorten(t *testing.T, g *nspawn.Manager, name string) {
	t.Helper()
	g.WriteUnit(t, name+".timer.d/short.conf", fmt.Sprintf("[Timer]\nOnActiveSec=\nOnActiveSec=%d\nOnUnitInactiveSec=%d\nAccuracySec=100ms\n",
		hostileSweep/time.Second, hostileSweep/time.Second))
	g.MustSystemctl(t, "restart", name+".timer")
}

// makeHome makes the counter's folder for the user that the unit names, and returns that user.
func (v *victim) makeHome(t *testing.T, g *nspawn.Manager, inside, service string) (uid int) {
	t.Helper()
	for line := range strings.Lines(service) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "User="); ok {
			uid = must(strconv.Atoi(strings.TrimSpace(g.MustExec(t, "id", "-u", name))))
		}
	}
	g.Mkdir(t, inside)
	check(t, os.Chown(g.Machine().Path(inside), uid, uid))
	return uid
}

// layBait makes what nobody may reach through the spool: readable by whoever the gate is, with names that would
// be taken for requests.
func (v *victim) layBait(t *testing.T) {
	t.Helper()
	check(t, os.MkdirAll(v.canary+"/folder", 0o755))
	for _, name := range []string{"/file", "/folder/sentinel", "/folder/request", "/folder/not a request"} {
		check(t, os.WriteFile(v.canary+name, []byte("precious"), 0o600))
		check(t, os.Chown(v.canary+name, v.uid, v.uid))
	}
	check(t, os.Chown(v.canary, v.uid, v.uid))
	check(t, os.Chown(v.canary+"/folder", v.uid, v.uid))
}

// asking tells whether the spool holds what fires the path unit, seen from outside.
func (v *victim) asking() bool {
	if _, err := os.Lstat(v.folders.Spool + "/sentinel"); err == nil {
		return true
	}
	info, err := os.Lstat(v.folders.Spool + "/requests")
	if err != nil || !info.IsDir() {
		return true
	}
	entries, err := os.ReadDir(v.folders.Spool + "/requests")
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
}

// settlesDown waits until nothing asks, nothing is owed and nothing runs. What was put aside may stay: unlike quiet,
// which cases with an honest web app wait for.
func (v *victim) settlesDown(t *testing.T) {
	t.Helper()
	v.eventually(t, v.patience(), "it has settled down", func() bool { return !v.asking() && v.claim(t) == nil && v.resting() })
}

// needs is what the last activation left for status to show.
func (v *victim) needs() []string {
	trouble, _ := trigger.ReadTrouble(v.folders.State)
	return trouble.Needs
}

// recovers shows that an honest touch is heard, covered and read within one sweep, and that the trigger lives.
func (v *victim) recovers(t *testing.T) {
	t.Helper()
	v.number++
	began := time.Now()
	ticket := v.write(t, v.number)
	v.eventually(t, v.patience(), fmt.Sprintf("%d is copied and its ticket covered", v.number), func() bool {
		return v.copied() >= v.number && v.status(t).Covers(ticket)
	})
	took := time.Since(began)
	v.eventually(t, v.patience(), "the trigger is alive", func() bool { return v.alive(t) == nil })
	t.Logf("an honest touch took %v", took.Round(10*time.Millisecond))
}

// said returns the gate's entries of a kind since an instant of the boot clock. trueup watch prints instead of
// logging: there it is the lines that have the text.
func (v *victim) said(t *testing.T, since time.Duration, id, text string) (messages []string) {
	t.Helper()
	if v.manager() == nil {
		for line := range strings.Lines(v.journal(t)) {
			if strings.Contains(line, text) {
				messages = append(messages, line)
			}
		}
		return messages
	}
	for _, e := range v.entries(t, since, "MESSAGE_ID="+id, "TRUEUP_UNIT="+v.name+".service") {
		messages = append(messages, e["MESSAGE"])
	}
	return messages
}

// entries are those of the journal that match, since an instant of the boot clock.
func (v *victim) entries(t *testing.T, since time.Duration, matches ...string) []nspawn.Entry {
	t.Helper()
	all := v.manager().Journal(t, append([]string{"-b"}, matches...)...)
	return slices.DeleteFunc(all, func(e nspawn.Entry) bool { return stamp(e) < since })
}

func stamp(e nspawn.Entry) time.Duration {
	at, _ := time.ParseDuration(e["__MONOTONIC_TIMESTAMP"] + "us")
	return at
}

// keptFloor shows that nothing looped since an instant of the boot clock: no two runs within a floor of the good
// one before, and never a third activation within a floor of the first.
func (v *victim) keptFloor(t *testing.T, since time.Duration) {
	t.Helper()
	const slack = 50 * time.Millisecond // the counter's clock has 10 ms, the journal's is late when it is busy
	floor := v.policy.Floor - slack
	var last attempt
	for _, a := range v.attempts(t) {
		// The first run after a mended state folder knows nothing of the last one before, which left no record.
		known := last.Claim != nil || a.Claim == nil
		if last.good() && known && a.began > since && a.began-last.ended < floor {
			t.Errorf("two runs %v apart, the floor is %v", a.began-last.ended, v.policy.Floor)
		}
		last = a
	}
	starts := v.starts(t, since)
	for i := 2; i < len(starts); i++ {
		if gap := starts[i] - starts[i-2]; gap < floor {
			t.Errorf("activations loop: the %d. is %v after the last but one: %v", i+1, gap, starts)
			break
		}
	}
}

// starts are the activations of the service since an instant of the boot clock; trueup watch has none.
func (v *victim) starts(t *testing.T, since time.Duration) (at []time.Duration) {
	t.Helper()
	if v.manager() == nil {
		return nil
	}
	const starting = "MESSAGE_ID=7d4958e842da4a758f6c1cdc7b36dcc5" // systemd's own
	field := "UNIT="
	if v.manager().IsUser() {
		field = "USER_UNIT="
	}
	for _, e := range v.entries(t, since, starting, field+v.name+".service") {
		at = append(at, stamp(e))
	}
	return at
}

// page is what trueup status says of the victim, and whether it says that a person is needed.
func (v *victim) page(t *testing.T) (text string, needed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	if g := v.manager(); g != nil {
		args := []string{"/usr/local/bin/trueup", "status", "--unit", v.name}
		if g.IsUser() {
			args = append(args, "--user")
		}
		text, err = g.Exec(ctx, args...)
	} else {
		var out []byte
		out, err = exec.CommandContext(ctx, shop.program("trueup"), "status",
			"--spool", v.folders.Spool, "--state", v.folders.State, "--outbox", v.folders.Outbox).Output()
		text = string(out)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return text, true
	}
	if err != nil {
		t.Errorf("trueup status: %v", err)
	}
	return text, false
}

func manager(p place) *nspawn.Manager {
	if s, ok := p.(systemdPlace); ok {
		return s.g
	}
	return nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
