package publish

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// A Teller tells notices on.
type Teller struct {
	// Say writes a notice to the journal.
	Say func(Notice)
	// Give gives a notice to the operator's command; nil where there is none.
	Give func(context.Context, Notice) error
	// Later: whether there is a command is not known now, so nothing is given, and what waits goes on waiting.
	Later bool
	// Save makes what has been told durable.
	Save func([]Standing) error
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Delivering is tried again after a minute, doubling, at most an hour.
const (
	firstRetry  = time.Minute
	longestWait = time.Hour
)

// Tell says what was not said, and gives what was not given: the oldest first, of each alarm in order. It returns what
// stands then, without what is over and told. The first delivery that fails is the last that is tried, since the next one
// would most likely fail too: it waits, and other alarms go first next time. So is the one at which the context ends. What cannot
// be saved is told all the same, and may be told again.
//
// An error is that of Save, or joins that of Give, which is noted and will be tried again.
func (t Teller) Tell(ctx context.Context, all []Standing) ([]Standing, error) {
	all = slices.Clone(all)
	untold := false
	for i := range all {
		for j, n := range all[i].Pending {
			if !n.Told {
				t.Say(n)
				all[i].Pending[j].Told, untold = true, true
			}
		}
	}
	if t.Give == nil && !t.Later {
		dropped := false
		for i := range all {
			dropped = dropped || len(all[i].Pending) > 0
			all[i].Pending, all[i].Tries, all[i].NotBefore = nil, 0, time.Time{}
		}
		all = standing(all)
		if !dropped {
			return all, nil
		}
		return all, t.Save(all)
	}
	var unsaved error
	if untold {
		unsaved = t.Save(all)
	}
	if t.Later {
		return all, unsaved
	}
	all, err := t.give(ctx, all)
	return all, cmp.Or(err, unsaved)
}

// give delivers. Each success is saved, so that a kill repeats one delivery at most.
func (t Teller) give(ctx context.Context, all []Standing) ([]Standing, error) {
	var unsaved error
	for ctx.Err() == nil {
		i := t.due(all)
		if i < 0 {
			break
		}
		s := &all[i]
		failed := t.Give(ctx, s.Pending[0])
		if failed != nil {
			s.Tries++
			s.NotBefore = t.now().Add(backoff(s.Tries))
		} else {
			s.Pending, s.Tries, s.NotBefore = s.Pending[1:], 0, time.Time{}
		}
		all = standing(all)
		unsaved = t.Save(all)
		if failed != nil {
			return all, errors.Join(failed, unsaved)
		}
	}
	return all, unsaved
}

// due is the alarm whose notice has waited longest, of those that may be tried; -1: none.
func (t Teller) due(all []Standing) int {
	now, found := t.now(), -1
	for i, s := range all {
		if len(s.Pending) == 0 || s.NotBefore.After(now) && s.NotBefore.Before(now.Add(longestWait+time.Second)) {
			continue // a clock that was set back must not park it
		}
		if found < 0 || cmp.Or(cmp.Compare(s.Tries, all[found].Tries), s.Pending[0].At.Compare(all[found].Pending[0].At)) < 0 {
			found = i
		}
	}
	return found
}

func (t Teller) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// standing leaves out what is over and told.
func standing(all []Standing) []Standing {
	return slices.DeleteFunc(all, func(s Standing) bool { return s.Cleared && !s.Doubt && len(s.Pending) == 0 })
}

func backoff(tries int) time.Duration {
	wait := firstRetry
	for range tries - 1 {
		if wait *= 2; wait >= longestWait {
			return longestWait
		}
	}
	return wait
}
