package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var errDown = errors.New("the mail server is down")

// A desk is a Teller that notes what it does.
type desk struct {
	t     *testing.T
	now   time.Time
	said  []string
	given []string
	saved []Standing
	down  func(Notice) bool

	unsaved error // why nothing can be noted
	later   bool
}

func (d *desk) tell(all []Standing, command bool) ([]Standing, error) {
	teller := Teller{Later: d.later, Say: func(n Notice) { d.said = append(d.said, n.State()+" "+n.Name) },
		Save: func(s []Standing) error { d.saved = s; return d.unsaved }, Now: func() time.Time { return d.now }}
	if command {
		teller.Give = func(_ context.Context, n Notice) error {
			if d.down != nil && d.down(n) {
				return errDown
			}
			d.given = append(d.given, n.State()+" "+n.Name)
			return nil
		}
	}
	return teller.Tell(d.t.Context(), all)
}

// Each delivery is tried until it succeeds, later and later; meanwhile others go first.
func TestDeliveredInTheEnd(t *testing.T) {
	d := &desk{t: t, now: noon, down: func(n Notice) bool { return n.Name == Disk }}
	all := Next(nil, Look{Found: []Alarm{an(Disk), an(Stale)}}, noon)
	all, err := d.tell(all, true)
	if !errors.Is(err, errDown) || len(d.given) > 0 {
		t.Fatalf("given %q, %v; want one try", d.given, err)
	}
	all, err = d.tell(all, true)
	same(t, "the other goes first", d.given, "raised stale")
	if err != nil || len(d.said) != 2 {
		t.Errorf("%v, said %q; want each said once", err, d.said)
	}
	tries := 0
	d.down = func(n Notice) bool { tries++; return tries < 8 }
	for range 3 * 60 {
		d.now = d.now.Add(time.Minute)
		all, _ = d.tell(all, true)
	}
	if tries != 7 {
		t.Errorf("%d tries within three hours, want them a minute, two, four … an hour apart", tries)
	}
	d.now = d.now.Add(time.Hour)
	all, _ = d.tell(all, true)
	same(t, "in the end", d.given, "raised stale", "raised disk")
	if all[0].Tries != 0 || len(all[0].Pending) > 0 {
		t.Errorf("%+v", all[0])
	}
	same(t, "saved", pending(d.saved))
}

// A look that was killed after it had written down what it found goes on where it was: nothing is lost, and what was
// written down as told is not told again.
func TestKilledBetween(t *testing.T) {
	dir := t.TempDir()
	m := Memory{Version: 1, Alarms: Next(nil, Look{Found: []Alarm{an(Stale)}}, noon)}
	if err := m.Save(dir); err != nil { // and then killed
		t.Fatal(err)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, now: noon}
	all := Next(again.Alarms, Look{Found: []Alarm{an(Stale)}}, minutes(1))
	all, _ = d.tell(all, true)
	same(t, "said", d.said, "raised stale")
	same(t, "given", d.given, "raised stale")
	all, _ = d.tell(Next(all, Look{Found: []Alarm{an(Stale)}}, minutes(2)), true)
	_, _ = d.tell(twice(all, Look{}, minutes(3)), true)
	same(t, "said", d.said, "raised stale", "cleared stale")
}

// What cannot be noted is told all the same, everything.
func TestToldUnsaved(t *testing.T) {
	d := &desk{t: t, now: noon, unsaved: errDown}
	_, err := d.tell(Next(nil, Look{Found: []Alarm{an(Disk), an(Stale)}}, noon), true)
	if !errors.Is(err, errDown) {
		t.Errorf("that it was not noted: %v", err)
	}
	same(t, "said", d.said, "raised disk", "raised stale")
	same(t, "given", d.given, "raised disk", "raised stale")
}

// Without a command nothing waits; what the finder has said already is not said again, but its end is.
func TestJournalAlone(t *testing.T) {
	d := &desk{t: t, now: noon}
	held := an(Held, "a")
	held.Said = true
	all, err := d.tell(Next(nil, Look{Found: []Alarm{held}}, noon), false)
	if err != nil || len(d.said) > 0 || len(all) != 1 || len(all[0].Pending) > 0 {
		t.Errorf("said %q, stands %+v, %v", d.said, all, err)
	}
	all, _ = d.tell(twice(all, Look{}, minutes(1)), false)
	same(t, "said", d.said, "cleared held")
	if len(all)+len(d.saved) > 0 {
		t.Errorf("%+v stands, saved %+v", all, d.saved)
	}
}

func TestOneLookAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/b")
	release, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second look: %v", err)
	}
	release()
	release, err = Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// A host that slept is watched anew; looks that come in time are one watch.
func TestWatch(t *testing.T) {
	w := Watch{}.Go("boot", time.Hour)
	w = w.Go("boot", time.Hour+2*time.Minute)
	if w != (Watch{"boot", time.Hour, time.Hour + 2*time.Minute}) {
		t.Errorf("%+v", w)
	}
	for name, next := range map[string]Watch{"slept": w.Go("boot", 2*time.Hour), "another boot": w.Go("other", w.Last+time.Minute), "a clock that went back": w.Go("boot", time.Minute)} {
		if next.Since != next.Last {
			t.Errorf("%s: %+v goes on", name, next)
		}
	}
}

// The command reads one document, with what it is about in its environment, and is done when it exits 0.
func TestCommand(t *testing.T) {
	t.Setenv("PGPASSWORD", "of the ledger")
	out := filepath.Join(t.TempDir(), "out")
	n := Notice{Alarm: an(Failing, "command:a"), At: minutes(9), Since: noon, Cleared: true}
	script := `echo "$TRUEUP_ALARM $TRUEUP_UNIT $TRUEUP_TARGET $TRUEUP_STATE$PGPASSWORD" >` + out + `; cat >>` + out
	if err := (Command{[]string{"/bin/sh", "-c", script}, time.Minute}).Give(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"failing web.service command:a cleared\n{", `"version":1,"alarm":"failing","unit":"web.service","target":"command:a","text":"failing it is"`,
		`"state":"cleared","at":"2026-11-29T12:09:00Z","since":"2026-11-29T12:00:00Z"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("it got %s, want %s", got, want)
		}
	}
	big := Notice{Alarm: Alarm{ID: n.ID, Text: strings.Repeat("x", 1<<20)}}
	if err := (Command{[]string{"/bin/true"}, time.Minute}).Give(t.Context(), big); err != nil {
		t.Errorf("one that reads nothing: %v", err)
	}
	err = Command{[]string{"/bin/sh", "-c", "echo no route; exit 3"}, time.Minute}.Give(t.Context(), n)
	if err == nil || !strings.Contains(err.Error(), "exit status 3: no route") {
		t.Errorf("one that fails: %v", err)
	}
	if err := (Command{[]string{"/nowhere/mail"}, time.Minute}).Give(t.Context(), n); err == nil {
		t.Error("one that is not there succeeds")
	}
}

// A command that hangs is killed with all that it has started.
func TestCommandHangs(t *testing.T) {
	child := filepath.Join(t.TempDir(), "child")
	start := time.Now()
	err := Command{[]string{"/bin/sh", "-c", "sleep 300 & echo $! >" + child + "; wait"}, 300 * time.Millisecond}.Give(t.Context(), Notice{Alarm: an(Disk)})
	if err == nil || !strings.Contains(err.Error(), "not done within 300ms") || time.Since(start) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	pid, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, strings.TrimSpace(string(pid)))
	// What one leaves behind that exits well is left alone: once it is reaped, its group's number may be anybody's.
	if err := (Command{[]string{"/bin/sh", "-c", "sleep 300 >/dev/null 2>&1 </dev/null & echo $! >" + child}, time.Minute}).Give(t.Context(), Notice{Alarm: an(Disk)}); err != nil {
		t.Error(err)
	}
	if pid, err = os.ReadFile(child); err != nil {
		t.Fatal(err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", left))
	if err := syscall.Kill(left, syscall.SIGKILL); err != nil || strings.Contains(string(state), ") Z ") {
		t.Errorf("process %d was killed: %s, %v", left, state, err)
	}
}

// gone waits until a process is dead.
func gone(t *testing.T, pid string) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	for {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("process %s lives on", pid)
		}
	}
}

// A disk that is full takes what is to be remembered all the same: it is then that alarms matter.
func TestRememberedOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("test", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mounting a small disk: %v; run the tests as root", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := (Memory{Version: 1}).Save(dir); err != nil {
		t.Fatal(err)
	}
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	for _, alarms := range [][]Standing{Next(nil, Look{Found: []Alarm{an(Disk), an(Stale)}}, noon), nil} {
		if err := (Memory{Version: 1, Alarms: alarms}).Save(dir); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(dir); err != nil || len(m.Alarms) != len(alarms) {
			t.Errorf("remembered %+v, %v; want %d alarms", m, err, len(alarms))
		}
	}
	large := an(Disk)
	large.Text = strings.Repeat("x", 1<<20)
	if err := (Memory{Version: 1, Alarms: Next(nil, Look{Found: []Alarm{large}}, noon)}).Save(dir); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than there is room for: %v", err)
	}
}

// While nobody knows which command to tell, what is to be told waits, and is told once it is known.
func TestToldLater(t *testing.T) {
	d := &desk{t: t, now: noon, later: true}
	all, err := d.tell(Next(nil, Look{Found: []Alarm{an(Disk)}}, noon), false)
	if err != nil || len(all) != 1 || len(all[0].Pending) != 1 || all[0].Tries > 0 {
		t.Errorf("%+v, %v; want the notice to wait", all, err)
	}
	same(t, "saved", pending(d.saved), "+disk")
	d.later = false
	_, _ = d.tell(all, true)
	same(t, "said", d.said, "raised disk")
	same(t, "given", d.given, "raised disk")
}
