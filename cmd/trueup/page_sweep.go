package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// A sweep takes so long for its page at most, whatever systemd or a disk does: it has done its work.
const pageTime = 5 * time.Second

// A swept is what a sweep has come to, for its page.
type swept struct {
	claim     *trigger.Claim
	outcome   reconcile.Outcome
	standings map[reconcile.Key]reconcile.Standing // as the sweep left them; nil where they could not be read
	took      time.Duration
	err       error
}

func (s swept) failed() bool { return s.err != nil || len(s.outcome.Failed()) > 0 }

// showPage writes the page after a sweep, also after one that failed. That it cannot be written is no failure of the sweep.
func (s *site) showPage(ctx context.Context, u *ui, sw swept) {
	if !s.reports() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
	defer cancel()
	if err := s.writePage(ctx, sw); err != nil {
		u.warning("%s; the page in %s is an old one", oneLine(err), s.Report)
	}
}

// reports tells whether the page is wanted: where the configuration names a folder for it, or trueup install has made the usual one.
func (s *site) reports() bool {
	o, err := configOptions(s.which.name, s.which.user)
	if err != nil || s.Report == "" {
		return false
	}
	return s.Report != o.Defaults.Report || !missingFile(s.Report)
}

func (s *site) writePage(ctx context.Context, sw swept) error {
	path, err := reportPath(s.Report)
	if err != nil {
		return err
	}
	v := s.afterwards(ctx, sw)
	var pastErr, noteErr error
	v.runs, pastErr = s.recent(ctx, v.site.holds)
	if v.activity, err = publish.ReadActivity(s.Report); err != nil {
		v.activity = publish.Activity{Version: 1} // it is written anew
	}
	v.activity.Add(v.now, v.slot(sw))
	noteErr = v.activity.Save(s.Report, pageMode)
	if pastErr != nil {
		v.remarks = append(v.remarks, oneLine(pastErr))
	}
	text, err := v.page().HTML()
	if err == nil {
		err = publish.Replace(path, text, pageMode)
	}
	return errors.Join(err, noteErr)
}

// afterwards is how everything stands once the sweep, whose process this is, is over.
func (s *site) afterwards(ctx context.Context, sw swept) *view {
	site := &siteFacts{which: s.which, flags: s.which.named()}
	s.tell(ctx, site, sw.standings)
	p, err := s.which.placed(ctx, s.folders())
	if p.unit == "" && os.Getenv("INVOCATION_ID") != "" && os.Getenv("TRUEUP_INVOCATION") == "" {
		p.unit, p.user = s.which.unit(), s.which.user // it is a service, whose sandbox hides systemd from it
	}
	if p.policy.Floor == 0 {
		p.policy = trigger.Policy{Floor: s.Trigger.Floor, RetryMax: s.Trigger.RetryMax, Sweep: s.Trigger.Sweep}
	}
	p.site = site
	f, gatherErr := gather(ctx, p, nil)
	f.site = site
	v := &view{facts: f}
	if err := errors.Join(err, gatherErr); err != nil {
		v.remarks = append(v.remarks, "not everything could be looked at from within the sweep: "+oneLine(err))
	}
	switch {
	case errors.Is(sw.err, context.Canceled):
		v.remarks = append(v.remarks, "the sweep was told to stop before it had done everything")
	case sw.err != nil && site.err == nil:
		site.err = sw.err
	}
	v.ended(sw)
	return v
}

// unit is the service that trueup install makes of the installation.
func (w *which) unit() string {
	if w.name == "" {
		return "trueup.service"
	}
	return "trueup-" + w.name + ".service"
}

// ended is how the trigger stands after the run that is on.
func (f *facts) ended(sw swept) {
	if sw.claim == nil {
		return
	}
	if s := f.systemd; s != nil {
		s.Service.Active, s.Service.Sub = "inactive", "dead"
		if s.Path.Sub == "running" {
			s.Path.Sub = "waiting"
		}
		for i, t := range s.Timers {
			if t.Active == "active" && t.Next.IsZero() {
				s.Timers[i].Next, s.Timers[i].Sub = f.now.Add(f.policy.Sweep), "waiting"
			}
		}
	}
	if sw.failed() {
		f.shown.State = trigger.Failing
		return
	}
	c := *sw.claim
	f.state.Claim, f.shown.State = nil, trigger.Idle
	f.state.Settled.Epoch, f.state.Settled.N = c.Epoch, c.N
	f.state.Settled.Runs++
	f.state.Settled.Finished = trigger.Instant{Boot: f.boot, At: f.uptime, Wall: f.now}
	if sw.outcome.Covered > 0 {
		until := sw.outcome.CoveredUntil
		f.state.Settled.Covered, f.state.Settled.CoveredUntil = sw.outcome.Covered, until
		f.shown.Settled, f.shown.CoveredUntil = sw.outcome.Covered, &until
	}
}

// slot is the sweep as the day counts it. What started it systemd tells from version 252 on; where it does not, a first attempt for
// names was asked for.
func (v *view) slot(sw swept) publish.Slot {
	slot := publish.Slot{Took: sw.took}
	if sw.failed() {
		slot.Failed = 1
	}
	if sw.claim == nil {
		return slot
	}
	by := os.Getenv("TRIGGER_UNIT")
	if sw.claim.Attempt == 1 && (strings.HasSuffix(by, ".path") || by == "" && !sw.claim.All) {
		slot.Touched = 1
	}
	if s := v.systemd; s != nil && !s.Service.Began.IsZero() {
		if waited := sw.claim.Claimed.Sub(s.Service.Began); waited >= time.Second {
			slot.Waited = waited
		}
	}
	return slot
}
