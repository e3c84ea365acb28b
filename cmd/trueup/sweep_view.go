package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"
	"github.com/schollz/progressbar/v3"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

// MESSAGE_IDs of the journal entries of sweeps.
const (
	msgTicked  = "6a1f0c8e2d9b4735b8c4e0f2a6d81394" // a tick did something, or could not
	msgHeld    = "c5e7a9b1d3f04268a0c2e4f6b8d01735" // alarm held: changes wait for approval, told once
	msgStrange = "1d3b5f7a9c0e4826b4d6f8a0c2e41597" // a request names no target
	msgSwept   = "e9a7c5b3d1f24680a1c3e5f7b9d20468" // a sweep has ended
)

// A sweepView shows a sweep as it goes on: a bar on a terminal, the journal and the service's status under systemd.
type sweepView struct {
	ui    *ui
	began time.Time

	mu       sync.Mutex
	bar      *progressbar.ProgressBar // nil where nobody looks
	patience time.Duration            // how long nothing may end
	extended time.Time
}

// Each tick that ends earns the sweep more time from the service manager: as much as the service file gives it at first,
// or as the slowest target may take. It is asked for at most once in a while.
const (
	silence   = 15 * time.Minute
	extending = 10 * time.Second
)

func watchSweep(u *ui, targets []reconcile.Target, quiet bool) *sweepView {
	v := &sweepView{ui: u, began: time.Now(), patience: silence}
	for _, t := range targets {
		v.patience = max(v.patience, t.Timeout+time.Minute)
	}
	v.extend(0, len(targets))
	if !quiet && terminal(u.err) && !u.plain && len(targets) > 1 {
		v.bar = progressbar.NewOptions(len(targets), progressbar.OptionSetWriter(u.err), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░"}), progressbar.OptionSetWidth(20))
	}
	return v
}

// progress is called as each tick begins and ends.
func (v *sweepView) progress(p reconcile.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bar != nil {
		v.bar.ChangeMax(p.Total)
		v.bar.Describe(fmt.Sprintf("%-24s", p.Target))
	}
	if p.Report == nil {
		return
	}
	if v.bar != nil {
		_ = v.bar.Set(p.Done) // a terminal that cannot be drawn on misses nothing
	}
	v.extend(p.Done, p.Total)
	v.tell(p.Target, *p.Report)
}

func (v *sweepView) extend(done, total int) {
	if now := time.Now(); now.Sub(v.extended) > extending || done == total {
		v.extended = now
		notify(fmt.Sprintf("STATUS=%d of %d targets\nEXTEND_TIMEOUT_USEC=%d", done, total, v.patience.Microseconds()))
	}
}

// tell says what is worth saying of a tick. A quiet one is not, nor is what has been said before.
func (v *sweepView) tell(key reconcile.Key, r reconcile.Report) {
	e := trigger.Event{ID: msgTicked, Priority: journal.PriInfo,
		Message: fmt.Sprintf("%s: %s", key, r.State),
		Fields:  map[string]string{"TRUEUP_TARGET": string(key), "TRUEUP_RUN": string(r.Run), "TRUEUP_STATE": string(r.State)}}
	if r.Note != "" {
		e.Message += ": " + oneLineOf(r.Note)
	}
	switch {
	case r.State == reconcile.Held && r.New:
		e.ID, e.Priority = msgHeld, journal.PriWarning
		e.Message += fmt.Sprintf("; trueup show %s, trueup approve %s", r.Run, r.Run)
	case r.State == reconcile.Failing, r.State == reconcile.Uncertain:
		e.Priority = journal.PriWarning
	case !r.New:
		return
	}
	if v.bar != nil {
		_ = v.bar.Clear()
	}
	trigger.Journal(e)
}

func (v *sweepView) end(o reconcile.Outcome) {
	if v.bar != nil {
		_ = v.bar.Finish()
	}
	for _, key := range o.Strange {
		trigger.Journal(trigger.Event{ID: msgStrange, Priority: journal.PriWarning, Fields: map[string]string{"TRUEUP_TARGET": string(key)},
			Message: fmt.Sprintf("%s was asked for and is not declared; the request is dropped", key)})
	}
	trigger.Journal(trigger.Event{ID: msgSwept, Priority: journal.PriInfo,
		Message: fmt.Sprintf("%s in %s: %s", counted(len(o.Reports), "target"), span(time.Since(v.began)), summary(o.Reports))})
}

// notify tells the service manager, if there is one.
func notify(state string) {
	_, _ = daemon.SdNotify(false, state) // nobody listens outside systemd
}
