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
	w := newWatched(t, floor, sweep)
	w.start()
	return w
}

// newWatched is watch before its start.
func newWatched(t *testing.T, floor, sweep time.Duration) *watched {
	w := &watched{host: newHost(t), runs: make(chan Claim), ends: make(chan error)}
	w.Gate.Clock = SystemClock{}
	w.Gate.Policy = Policy{Floor: floor, RetryMax: 4 * floor, Sweep: sweep}
	w.Gate.Log = func(e Event) { t.Log(e.Message) }
	check(t, os.Remove(w.Folders.State+"/settled")) // its epoch came from the fake clock's boot
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

// A watch whose state folder was removed goes on in a new one, and holds that; where another watch has come first it ends
// and says so, before it runs beside it.
func TestWatchStateRemoved(t *testing.T) {
	w := newWatched(t, 100*time.Millisecond, time.Hour)
	rests := w.restful()
	w.start()
	w.run("at the start")
	w.end(nil)
	rests()
	check(t, os.RemoveAll(w.Folders.State))
	w.touch()
	w.run("in a state folder made anew")
	second := Watcher{Gate: *w.Gate}
	if err := second.Watch(context.Background()); !errors.Is(err, ErrWatched) {
		t.Errorf("a second watch on the state folder made anew: %v", err)
	}
	w.end(nil)

	state, err := openState(w.Folders.State)
	check(t, err)
	defer state.close()
	check(t, os.Remove(filepath.Join(w.Folders.State, watchLock)))
	theirs, err := lockFile(context.Background(), state, watchLock, SystemClock{}, 0)
	check(t, err)
	defer theirs.Close()
	w.touch()
	select {
	case err := <-w.done:
		if !errors.Is(err, ErrWatched) {
			t.Errorf("the watch ended with %v, want that another has the folder", err)
		}
	case <-w.runs:
		t.Error("it runs beside another watch")
	case <-w.due:
		t.Error("nothing happened")
	}
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

// Whatever is exchanged on the way to the spool, a folder or a link, and also when the spool goes and comes back, the
// next touch is heard without a sweep (F10).
func TestWatchWayExchanged(t *testing.T) {
	w := newWatched(t, 100*time.Millisecond, time.Hour)
	root := t.TempDir()
	check(t, os.MkdirAll(root+"/one/a/spool/requests", 0o755))
	check(t, os.Symlink("one", root+"/inner"))
	check(t, os.Symlink(root+"/inner/a", root+"/outer"))
	w.Folders.Spool = root + "/outer/spool"
	rests := w.restful()
	w.start()
	w.run("at the start")
	w.end(nil)
	for _, exchange := range []struct {
		what string
		do   func() error
	}{
		{"a folder above", func() error {
			return errors.Join(os.Rename(root+"/one/a", root+"/one/old"), os.MkdirAll(root+"/one/a/spool/requests", 0o755))
		}},
		{"a link on the way of a link", func() error {
			return errors.Join(os.MkdirAll(root+"/two/a/spool/requests", 0o755), os.Symlink("two", root+"/new"), os.Rename(root+"/new", root+"/inner"))
		}},
		{"the link", func() error {
			return errors.Join(os.MkdirAll(root+"/three/spool/requests", 0o755), os.Symlink("three", root+"/new"), os.Rename(root+"/new", root+"/outer"))
		}},
		{"the spool, removed and made anew", func() error {
			return errors.Join(os.RemoveAll(root+"/three/spool"), os.MkdirAll(root+"/three/spool/requests", 0o755))
		}},
		{"all of it, removed and made anew", func() error {
			return errors.Join(os.RemoveAll(root+"/three"), os.MkdirAll(root+"/three/spool/requests", 0o755))
		}},
	} {
		rests()
		check(t, exchange.do())
		w.touch()
		w.run("for a touch after an exchange of " + exchange.what)
		w.end(nil)
	}
}

// An idleClock tells when a watch waits for nothing but a touch.
type idleClock struct {
	SystemClock
	idle chan struct{}
}

// restful returns what waits until the watch comes to rest.
func (w *watched) restful() (rests func()) {
	idle := make(chan struct{}, 1)
	w.Gate.Clock = idleClock{idle: idle}
	return func() {
		w.t.Helper()
		select {
		case <-idle:
		case <-w.due:
			w.t.Fatal("the watch does not come to rest")
		}
	}
}

func (c idleClock) Until(t time.Duration) (<-chan struct{}, func(), error) {
	if t-c.Now() > time.Minute {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
	return c.SystemClock.Until(t)
}

// What else happens in the folders above the spool wakes nobody.
func TestWatchSpoolPassesBy(t *testing.T) {
	root := t.TempDir()
	check(t, os.MkdirAll(root+"/a/spool/requests", 0o755))
	changed, blind, stop := watchSpool(root + "/a/spool")
	defer stop()
	if blind {
		t.Error("a plain folder cannot be watched")
	}
	check(t, errors.Join(os.WriteFile(root+"/a/other", nil, 0o600), os.Mkdir(root+"/b", 0o755), os.WriteFile(root+"/spool", nil, 0o600)))
	other, blind, stopOther := watchSpool(root + "/nothing/spool")
	defer stopOther()
	if !blind {
		t.Error("a folder that is not there is watched")
	}
	check(t, os.Mkdir(root+"/nothing", 0o755))
	<-other
	select {
	case <-changed:
		t.Error("something else was taken for a change on the way")
	default:
	}
	check(t, os.Rename(root+"/a", root+"/c"))
	<-changed
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
