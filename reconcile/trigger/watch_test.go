package trigger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched is a Watcher on the real clock and the real inotify, whose runs the test sees one by one.
type watched struct {
	*host
	runs chan Claim      // a run has begun
	ends chan error      // what it is to end with
	done chan error      // Watch has returned
	stop func()          // ends the watch
	due  <-chan struct{} // the test's patience
}

func watch(t *testing.T, floor, sweep time.Duration) *watched {
	w := &watched{host: newHost(t), runs: make(chan Claim), ends: make(chan error)}
	w.Gate.Clock = SystemClock{}
	w.Gate.Policy = Policy{Floor: floor, RetryMax: 4 * floor, Sweep: sweep}
	w.Gate.Log = func(e Event) { t.Log(e.Message) }
	check(t, os.Remove(w.Folders.State+"/settled")) // its epoch came from the fake clock's boot
	w.start()
	t.Cleanup(func() {
		w.stop()
		<-w.done
	})
	return w
}

func (w *watched) start() {
	ctx, cancel := context.WithCancel(context.Background())
	over, end := context.WithTimeout(context.Background(), 20*time.Second)
	w.due = over.Done()
	watcher := Watcher{Gate: *w.Gate, Run: func(ctx context.Context, c Claim) error {
		select {
		case w.runs <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-w.ends:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	done := make(chan error, 1)
	w.done = done
	go func() {
		done <- watcher.Watch(ctx)
		close(done)
	}()
	w.stop = func() {
		cancel()
		end()
	}
}

func (w *watched) run(what string) Claim {
	w.t.Helper()
	select {
	case c := <-w.runs:
		return c
	case err := <-w.done:
		w.t.Fatalf("the watch ended (%v) before %s", err, what)
	case <-w.due:
		w.t.Fatalf("no run began: %s", what)
	}
	panic("unreachable")
}

func (w *watched) end(err error) { w.ends <- err }

// A touch during a run is taken by one more run after it, a burst by one (PATH-01, PATH-03, PATH-05, TRG-10).
func TestWatchTouchDuringRun(t *testing.T) {
	w := watch(t, 200*time.Millisecond, time.Hour)
	w.run("at the start, for drift")
	for range 100 {
		w.touch()
	}
	late := w.touch()
	w.end(nil)
	c := w.run("for the touches during the run")
	if w.covers(late) {
		t.Error("covered by a run that began before the touch")
	}
	w.end(nil)
	w.touch("one")
	next := w.run("for a request by name")
	if !w.covers(late) {
		t.Error("not covered by the run after the touch")
	}
	if next.All || next.N != c.N+1 {
		t.Errorf("the third run is claim %d (all: %v), want %d for one name: the burst was more than one run", next.N, next.All, c.N+1)
	}
	w.end(nil)
}

// A failing run is retried by itself; the sweep comes by itself (TMR-05, TRG-15).
func TestWatchRetriesAndSweeps(t *testing.T) {
	w := watch(t, 100*time.Millisecond, 300*time.Millisecond)
	w.run("at the start")
	w.end(errors.New("down"))
	if c := w.run("as the retry"); c.Attempt != 2 {
		t.Errorf("attempt %d, want 2", c.Attempt)
	}
	w.end(nil)
	if c := w.run("as the sweep"); !c.All || c.Attempt != 1 {
		t.Errorf("the sweep is attempt %d, all: %v", c.Attempt, c.All)
	}
	w.end(nil)
}

// A watch that is stopped in mid-run leaves the claim, and the next watch runs for it; two at a time are refused
// (LCK-03).
func TestWatchStopsAndGoesOn(t *testing.T) {
	w := watch(t, 100*time.Millisecond, time.Hour)
	ticket := w.touch()
	w.run("for the touch")
	second := Watcher{Gate: *w.Gate}
	if err := second.Watch(context.Background()); err == nil || !strings.Contains(err.Error(), "another trueup watch") {
		t.Errorf("a second watch on the same state folder: %v", err)
	}
	w.stop()
	if err := <-w.done; err != nil {
		t.Fatalf("Watch: %v", err)
	}
	if !exists(filepath.Join(w.Folders.State, "claim")) {
		t.Fatal("the claim is gone without a success")
	}
	w.start()
	if c := w.run("for the claim that stands"); c.Attempt != 2 {
		t.Errorf("attempt %d, want 2", c.Attempt)
	}
	w.end(nil)
	w.touch("next")
	w.run("after the settled one")
	if !w.covers(ticket) {
		t.Error("the touch is not covered")
	}
	w.end(nil)
}

// The spool renamed and made anew is noticed without a sweep (F10).
func TestWatchSpoolMadeAnew(t *testing.T) {
	w := watch(t, 100*time.Millisecond, time.Hour)
	w.run("at the start")
	w.end(nil)
	check(t, os.Rename(w.Folders.Spool, w.Folders.Spool+".old"))
	check(t, os.MkdirAll(w.Folders.Spool+"/requests", 0o755))
	w.touch()
	w.run("for a touch in the new spool")
	w.end(nil)
}

// A spool that was made unusable while no watch ran is set right by its first run; it does not keep the watch from
// starting.
func TestWatchStartsOnAHostileSpool(t *testing.T) {
	w := watch(t, 100*time.Millisecond, time.Hour)
	w.run("at the start")
	w.end(nil)
	w.stop()
	<-w.done
	check(t, os.RemoveAll(w.Folders.Spool+"/requests"))
	check(t, os.WriteFile(w.Folders.Spool+"/requests", nil, 0o644))
	check(t, os.MkdirAll(w.Folders.Spool+"/.check/x", 0o755))
	w.start()
	w.run("in spite of it")
	w.end(nil)
	w.touch("one")
	w.run("for a request by name")
	w.end(nil)
}
