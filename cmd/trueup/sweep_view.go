package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"
	"github.com/schollz/progressbar/v3"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/trigger"
)

// MESSAGE_IDs of the journal entries of sweeps.
const (
	msgTicked  = "6a1f0c8e2d9b4735b8c4e0f2a6d81394" // a tick did something, or could not
	msgHeld    = "c5e7a9b1d3f04268a0c2e4f6b8d01735" // alarm held: changes wait for approval, told once
	msgStrange = "1d3b5f7a9c0e4826b4d6f8a0c2e41597" // a request names no target
	msgPrinted = "f4b2d0c8a6e94752b0d8c6a4e2f01937" // what a command of a tick printed
	msgSwept   = "e9a7c5b3d1f24680a1c3e5f7b9d20468" // a sweep has ended
)

// A sweepView shows a sweep as it goes on: a bar on a terminal, the journal and the service's status under systemd.
type sweepView struct {
	ctx      context.Context // of what is read and noted on the way, also after the word to stop
	ui       *ui
	ledger   reconcile.Ledger
	declared map[reconcile.Key]bool
	began    time.Time
	log      func(trigger.Event)
	service  bool // what commands print goes to the journal; a person asks trueup logs for it

	mu       sync.Mutex
	bar      *progressbar.ProgressBar // nil where nobody looks
	patience time.Duration            // how long nothing may end
	extended time.Time
	waits    map[reconcile.Key]string // what ticks wait for that no timeout ends
}

// Each tick that ends earns the sweep more time from the service manager: as much as the service file gives it at first,
// or as the slowest target may take. It is asked for at most once in a while.
const (
	silence   = 15 * time.Minute
	extending = 10 * time.Second
)

func watchSweep(ctx context.Context, u *ui, l reconcile.Ledger, targets []reconcile.Target, quiet bool) *sweepView {
	v := &sweepView{ctx: context.WithoutCancel(ctx), ui: u, ledger: l, declared: map[reconcile.Key]bool{}, began: time.Now(), log: trigger.Journal,
		service: os.Getenv("INVOCATION_ID") != "" && !terminal(u.err), patience: silence, waits: map[reconcile.Key]string{}}
	for _, t := range targets {
		v.declared[t.Key] = true
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

// progress is called as each tick begins and ends, or waits.
func (v *sweepView) progress(p reconcile.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bar != nil {
		v.bar.ChangeMax(p.Total)
		v.bar.Describe(fmt.Sprintf("%-24s", p.Target))
	}
	switch {
	case p.Waits != "":
		v.wait(p)
		return
	case p.Report == nil:
		return
	}
	delete(v.waits, p.Target)
	if v.bar != nil {
		_ = v.bar.Set(p.Done) // a terminal that cannot be drawn on misses nothing
	}
	v.extend(p.Done, p.Total)
	v.tell(p.Target, *p.Report)
}

func (v *sweepView) extend(done, total int) {
	if now := time.Now(); now.Sub(v.extended) > extending || done == total {
		v.extended = now
		notify(fmt.Sprintf("STATUS=%s\nEXTEND_TIMEOUT_USEC=%d", v.status(done, total), v.patience.Microseconds()))
	}
}

// status is what the service is doing.
func (v *sweepView) status(done, total int) string {
	text := fmt.Sprintf("%d of %d targets", done, total)
	for _, key := range slices.Sorted(maps.Keys(v.waits)) {
		text += fmt.Sprintf("; %s waits for %s", key, v.waits[key])
	}
	return printable(text)
}

// wait tells what a tick waits for. It earns the sweep no time.
func (v *sweepView) wait(p reconcile.Progress) {
	v.waits[p.Target] = p.Waits
	v.say(trigger.Event{ID: msgTicked, Priority: journal.PriWarning, Fields: map[string]string{"TRUEUP_TARGET": string(p.Target)},
		Message: fmt.Sprintf("%s: waits for %s", p.Target, p.Waits)})
	notify("STATUS=" + v.status(p.Done, p.Total))
}

// tell says what is worth saying of a tick. A quiet one is not, nor is what has been said before.
func (v *sweepView) tell(key reconcile.Key, r reconcile.Report) {
	raised := r.State == reconcile.Held && v.raise(key) // the alarm says it all
	loud := r.State == reconcile.Failing || r.State == reconcile.Uncertain
	if !raised && (loud || r.Own != "") {
		run := cmp.Or(r.Own, r.Run)
		e := trigger.Event{ID: msgTicked, Priority: journal.PriInfo, Message: fmt.Sprintf("%s: %s", key, r.State),
			Fields: map[string]string{"TRUEUP_TARGET": string(key), "TRUEUP_RUN": string(run), "TRUEUP_STATE": string(r.State)}}
		if r.Note != "" {
			e.Message += ": " + oneLineOf(r.Note)
		}
		if loud {
			e.Priority = journal.PriWarning
		}
		v.say(e)
	}
	if r.Held != "" && r.State != reconcile.Held {
		v.raise(key)
	}
	if v.service && r.Own != "" {
		v.printed(key, r.Own)
	}
}

// raise tells of what waits for a person, of one target or of all, and notes that it was told. It tells once: who is killed
// before the note tells again.
func (v *sweepView) raise(target reconcile.Key) (raised bool) {
	holds, err := plan.Waiting(v.ctx, v.ledger, target)
	for _, h := range holds {
		if h.Told || !v.declared[h.Target] {
			continue
		}
		raised = true
		v.say(trigger.Event{ID: msgHeld, Priority: journal.PriWarning,
			Message: fmt.Sprintf("%s: held: %s; trueup show %s, trueup approve %s", h.Target, oneLineOf(h.Why), h.Run, h.Run),
			Fields: map[string]string{"TRUEUP_TARGET": string(h.Target), "TRUEUP_RUN": string(h.Run),
				"TRUEUP_STATE": string(reconcile.Held), "TRUEUP_ALARM": "held"}})
		err = errors.Join(err, h.Tell(v.ctx, v.ledger))
	}
	if err != nil {
		v.ui.warning("looking for what waits for approval: %v", err)
	}
	return raised
}

// printed passes on what the commands of a run printed.
func (v *sweepView) printed(key reconcile.Key, run reconcile.RunID) {
	logs, err := v.ledger.Logs(v.ctx, run)
	if err != nil {
		v.ui.warning("reading what run %s printed: %v", run, err)
	}
	for _, l := range logs {
		v.say(trigger.Event{ID: msgPrinted, Priority: journal.PriInfo, Message: strings.TrimRight(l.Text, "\n"),
			Fields: map[string]string{"TRUEUP_TARGET": string(key), "TRUEUP_RUN": string(run), "TRUEUP_STREAM": l.Stream}})
	}
}

// say logs what may come from commands and the outside, so that no terminal obeys it.
func (v *sweepView) say(e trigger.Event) {
	if v.bar != nil {
		_ = v.bar.Clear()
	}
	e.Message = harmless(e.Message)
	v.log(e)
}

// end tells what only the whole sweep shows.
func (v *sweepView) end(o reconcile.Outcome, err error) {
	if v.bar != nil {
		_ = v.bar.Finish()
	}
	if n := len(o.Strange); n > 0 {
		names := make([]string, min(n, maxNames))
		for i := range names {
			names[i] = string(o.Strange[i])
		}
		v.say(trigger.Event{ID: msgStrange, Priority: journal.PriWarning,
			Fields:  map[string]string{"TRUEUP_TARGETS": strings.Join(names, " "), "TRUEUP_COUNT": strconv.Itoa(n)},
			Message: fmt.Sprintf("asked for and not declared, and dropped: %s, such as %s", counted(n, "request"), names[0])})
	}
	if err != nil {
		return
	}
	v.raise("")
	message := "no target was due"
	if len(o.Reports) > 0 {
		message = fmt.Sprintf("%s in %s: %s", counted(len(o.Reports), "target"), span(time.Since(v.began)), summary(o.Reports))
	}
	v.say(trigger.Event{ID: msgSwept, Priority: journal.PriInfo, Message: message})
}

// notify tells the service manager, if there is one.
func notify(state string) {
	_, _ = daemon.SdNotify(false, state) // nobody listens outside systemd
}
