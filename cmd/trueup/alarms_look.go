package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// Telling may take so long in one look, so that looks stay regular; what is left is the next one's.
const (
	tellingTime = 45 * time.Second
	givingTime  = 30 * time.Second // a notice
)

// A watchman looks at every unit of a manager.
type watchman struct {
	ui      *ui
	user    bool
	folders publish.Folders // where it remembers
}

// look looks once, and returns what it remembers then; nil where it did not get so far.
func (w watchman) look(ctx context.Context) (*publish.Memory, error) {
	release, refused, err := w.hold(ctx)
	if errors.Is(err, publish.ErrBusy) {
		return nil, fail(exitTimeout, "", "looking for alarms: %w", err)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	memory := w.remember()
	conf, unread := loadAlarmsConfig(w.user)
	faults := unread
	all, err := adopted(ctx, w.user)
	if err != nil {
		return nil, err
	}
	clock := trigger.SystemClock{}
	memory.Watch, memory.Looked = memory.Watch.Go(clock.Boot(), clock.Now()), clock.Wall()
	found := w.lookAtAll(ctx, all, memory)
	found.alarms = append(found.alarms, w.lookAtOwn(refused, memory)...)
	memory.Alarms = publish.Next(memory.Alarms, publish.Look{Found: found.alarms, Unknown: found.unknown}, memory.Looked)
	memory.Units = found.units
	if err := w.write(ctx, conf, found, memory); err != nil {
		faults = errors.Join(faults, err)
	}
	memory.Fault = ""
	if problem := errors.Join(found.err, faults); problem != nil {
		memory.Fault = oneLine(problem)
	}
	if err := w.folders.Save(*memory); err != nil { // they are told all the same
		faults = errors.Join(fail(exitState, "", "%w", err), faults)
	}
	return memory, w.end(w.tell(ctx, conf, unread != nil, memory), faults, found.err)
}

// hold keeps other looks away, and waits for one that is on: it tells no longer than tellingTime, and then this one may
// find other things.
func (w watchman) hold(ctx context.Context) (release func(), refused, err error) {
	ctx, cancel := context.WithTimeout(ctx, tellingTime+givingTime)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		release, refused, err = w.folders.Hold()
		if !errors.Is(err, publish.ErrBusy) {
			return release, refused, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-again.C:
		}
	}
}

// end is how a look ends: the worst first.
func (w watchman) end(told, faults, looked error) error {
	if told != nil {
		w.ui.warning("%v", told) // it is tried again
	}
	switch {
	case faults != nil && looked != nil:
		return errors.Join(looked, faults)
	case faults != nil:
		return faults
	case looked != nil:
		return fail(exitNeeds, "", "%w", looked)
	}
	return nil
}

// remember reads what earlier looks left. Where that is damaged, what stands is raised again.
func (w watchman) remember() *publish.Memory {
	memory, err := w.folders.Read()
	if err != nil {
		w.ui.warning("%v: it is written anew, and what stands is told again", err)
		memory = publish.Memory{Version: 1}
	}
	return &memory
}

// tell says and gives what is to be told, and remembers that.
func (w watchman) tell(ctx context.Context, conf alarmsConfig, unread bool, memory *publish.Memory) (err error) {
	teller := publish.Teller{Say: sayNotice, Later: unread, Save: func(all []publish.Standing) error {
		memory.Alarms = all
		return w.folders.Save(*memory)
	}}
	if len(conf.Command) > 0 {
		teller.Give = publish.Command{Args: conf.Command, Timeout: givingTime}.Give
	}
	ctx, cancel := context.WithTimeout(ctx, tellingTime)
	defer cancel()
	memory.Alarms, err = teller.Tell(ctx, memory.Alarms)
	return err
}

// seen is what a look has found out.
type seen struct {
	alarms []publish.Alarm
	facts  []facts
	units  map[string]publish.Unit
	blind  map[string]blindness // units of which something could not be seen
	err    error
}

// blindness says what could not be seen of a unit.
type blindness struct{ all, runs, targets bool }

// unknown tells of which alarms the look can say nothing.
func (s seen) unknown(id publish.ID) bool {
	b := s.blind[id.Unit]
	return b.all || b.targets && id.Target != "" || b.runs && id.Target == "" && (id.Name == publish.Failing || id.Name == publish.Stale)
}

func (w watchman) lookAtAll(ctx context.Context, all []place, before *publish.Memory) seen {
	s := seen{units: map[string]publish.Unit{}, blind: map[string]blindness{}}
	stands := map[publish.ID]bool{}
	for _, a := range before.Standing() {
		stands[a.ID] = true
	}
	for _, p := range all {
		f, err := gather(ctx, p, all)
		if err != nil {
			s.blind[p.unit] = blindness{all: true}
			s.units[p.unit] = before.Units[p.unit]
			s.err = errors.Join(s.err, fmt.Errorf("looking at %s: %w", p.unit, err))
			continue
		}
		f.every = before.Units[p.unit].Every
		if !stands[publish.ID{Name: publish.Stale, Unit: p.unit}] {
			f.watched = max(1, before.Watch.Last-before.Watch.Since)
		}
		s.units[p.unit] = publish.Unit{Every: f.interval()}
		s.blind[p.unit] = blindness{runs: f.stateErr != nil, targets: f.site != nil && f.site.err != nil}
		s.alarms = append(s.alarms, f.wrong(stands)...)
		s.facts = append(s.facts, f)
	}
	return s
}

// wrong is what of a unit raises alarms: the findings of status, by their rules, and folders that are filling up.
func (f facts) wrong(stands map[publish.ID]bool) (found []publish.Alarm) {
	add := func(name, about string, said bool, what finding) {
		sure := name != publish.Disk && (name != publish.TriggerDead || f.systemd.Dead()) // the rest may be so while units are changed
		found = append(found, publish.Alarm{ID: publish.ID{Name: name, Unit: f.unit, Target: about}, Text: what.What, Do: what.Do, Said: said, Sure: sure})
	}
	for _, r := range rules() {
		if name := f.alarmOf(r.id); name != "" {
			for _, what := range r.broken(f) {
				add(name, "", false, what)
			}
		}
	}
	for _, what := range f.filling(stands[publish.ID{Name: publish.Disk, Unit: f.unit}]) {
		add(publish.Disk, "", false, what)
	}
	if f.site == nil || f.site.err != nil {
		return found
	}
	for _, s := range slices.Concat(f.site.snags(), f.site.forgotten()) {
		said := false
		for key, h := range f.site.holds {
			said = said || s.alarm == publish.Held && string(key) == s.about && h.Told // by the sweep
		}
		add(s.alarm, s.about, said, s.finding)
	}
	return found
}

// alarmOf is the alarm that a broken rule raises. Where there is none, what follows from the breach raises one.
func (f facts) alarmOf(rule string) string {
	switch rule {
	case "path", "watch":
		return publish.TriggerDead
	case "requests":
		if f.unrecorded() {
			return publish.Disk
		}
		return publish.TriggerDead
	case "runs", "hanging":
		return publish.Failing
	case "stale":
		return publish.Stale
	case "spool", "state", "outbox", "gate":
		return publish.Disk
	}
	return ""
}
