package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// An outside is what a target is about: a version in two halves, and members who are invited once each. What is wanted of
// it is a version that grows, and other members.
type outside struct {
	version int // that is wanted
	wanted  map[string]bool
	halves  [2]int
	members map[string]time.Time // by name, since when they show
	sent    map[string]int       // invitations
	late    bool                 // invitations show late
	fence   reconcile.Fence      // the greatest that it has seen
	names   int
}

func newOutside(members int, late bool) *outside {
	o := &outside{late: late, wanted: map[string]bool{}, members: map[string]time.Time{}, sent: map[string]int{}}
	for range members {
		o.want()
	}
	for name := range o.wanted {
		o.members[name] = time.Time{}
	}
	return o
}

// want asks for one more member.
func (o *outside) want() {
	o.names++
	o.wanted[fmt.Sprintf("m%03d", o.names)] = true
}

// live is the version that stands outside, whole.
func (o *outside) live() int { return min(o.halves[0], o.halves[1]) }

// A wish is what is wanted of an outside, as its policy says.
type wish struct {
	Version int
	Members map[string]bool
}

// seen is what one look shows.
type seen struct {
	halves [2]int
	there  map[string]bool
}

// A kind is the real thing for such outsides, in one process, and the reader of their policies.
type kind struct{ p *process }

func (k kind) Read(ctx context.Context, s policy.Source, _ policy.Moment) (doc policy.Document, err error) {
	in := plan.Input{Target: reconcile.Target{Key: reconcile.Key(s.File)}}
	err = k.reach(ctx, in, "read", func(o *outside, d *rand.Rand) error {
		if k.refuses(d) {
			return &reconcile.UnknownError{Err: errDown}
		}
		doc.Data, err = json.Marshal(wish{o.version, o.wanted})
		doc.Digest = fmt.Sprint("version ", o.version)
		return err
	})
	return doc, err
}

func (k kind) Observe(ctx context.Context, in plan.Input) (s seen, err error) {
	err = k.reach(ctx, in, "observe", func(o *outside, d *rand.Rand) error {
		if k.refuses(d) {
			if d.IntN(5) == 0 {
				panic("a bug of a kind")
			}
			return &reconcile.UnknownError{Err: errDown}
		}
		s = seen{halves: o.halves, there: map[string]bool{}}
		for name, since := range o.members {
			if !since.After(time.Now()) {
				s.there[name] = true
			}
		}
		return nil
	})
	if err == nil {
		err = k.p.pause(ctx, k.p.w.dice(fmt.Sprint(k.p.name, " observed ", in.Fence)), 1)
	}
	return s, err
}

func (k kind) Plan(in plan.Input, s seen) (p reconcile.Plan, err error) {
	var w wish
	if err := json.Unmarshal(in.Policy.Data, &w); err != nil {
		return nil, err
	}
	if s.halves != [2]int{w.Version, w.Version} {
		p = append(p, reconcile.Change{ID: "version", Op: reconcile.Update, Text: "the version", Data: strconv.Itoa(w.Version)})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Members)) {
		if !s.there[name] {
			p = append(p, reconcile.Change{ID: "invite " + name, Op: reconcile.Create, Text: name, Once: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.there)) {
		if !w.Members[name] {
			p = append(p, reconcile.Change{ID: "drop " + name, Op: reconcile.Remove, Text: name})
		}
	}
	return p, nil
}

func (k kind) Apply(ctx context.Context, in plan.Input, _ seen, c reconcile.Change) error {
	if c.ID != "version" {
		return k.write(ctx, in, c)
	}
	if k.p.w.grace {
		if err := k.command(ctx, in); err != nil {
			return err
		}
	}
	c.ID = "version 0"
	if err := k.write(ctx, in, c); err != nil {
		return err
	}
	if err := in.Guard(ctx); err != nil {
		return err
	}
	c.ID = "version 1"
	return k.write(ctx, in, c)
}

// command is a program that writes all the time. Told to end, it goes on for some time, with whatever it does then; killed, it
// is dead in a moment.
func (k kind) command(ctx context.Context, in plan.Input) error {
	d := k.p.w.dice(fmt.Sprint(k.p.name, " command ", in.Fence))
	told, killed, end := ctx.Done(), reconcile.Grace(ctx).Done(), time.After(within(d, ttl))
	for {
		select {
		case <-end:
			return context.Cause(ctx)
		case <-told:
			told, end = nil, time.After(within(d, 3*ttl))
		case <-killed:
			if k.p.w.planted != graceIgnored {
				<-time.After(within(d, notice))
				return context.Cause(ctx)
			}
			told, killed = nil, nil
		case <-time.After(within(d, ttl/20)):
		}
		k.p.w.mu.Lock()
		k.p.w.written(in)
		k.p.w.mu.Unlock()
	}
}

// Happened tells whether somebody was invited. It is never late.
func (k kind) Happened(ctx context.Context, in plan.Input, _ seen, c reconcile.Change) (yes bool, err error) {
	err = k.reach(ctx, in, "ask after "+c.ID, func(o *outside, d *rand.Rand) error {
		yes = o.sent[strings.TrimPrefix(c.ID, "invite ")] > 0
		if k.refuses(d) {
			return errDown
		}
		return nil
	})
	return yes, err
}

// write is one write, which may be refused or answered by nothing. It comes right after the look at the lease, but where
// the outside compares fences.
func (k kind) write(ctx context.Context, in plan.Input, c reconcile.Change) error {
	return k.reach(ctx, in, "write "+c.ID, func(o *outside, d *rand.Rand) error {
		fails := k.refuses(d)
		switch {
		case fails && d.IntN(4) == 0 && k.p.w.people:
			return &reconcile.NotBeforeError{At: time.Now().Add(within(d, ttl)), Err: errDown}
		case fails && d.IntN(2) == 0:
			return errDown
		}
		k.p.w.written(in)
		verb, name, _ := strings.Cut(c.ID, " ")
		switch verb {
		case "version":
			half, _ := strconv.Atoi(name)
			o.halves[half], _ = strconv.Atoi(c.Data)
		case "invite":
			o.members[name] = time.Now()
			if o.late {
				o.members[name] = time.Now().Add(within(d, ttl))
			}
			o.sent[name]++
			k.p.w.invited(in, name, o.sent[name])
		case "drop":
			delete(o.members, name)
		}
		if fails {
			return errLost
		}
		return nil
	})
}

// reach is one call of the outside by a process that lives.
func (k kind) reach(ctx context.Context, in plan.Input, what string, do func(o *outside, d *rand.Rand) error) (err error) {
	w, name := k.p.w, fmt.Sprint(k.p.name, " ", in.Target.Key, " ", what)
	d := w.dice(name)
	if w.fenced || !strings.HasPrefix(what, "write") {
		if err := k.p.pause(ctx, d, 1); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.p.session.over {
		return errKilled
	}
	w.steps++
	o := w.outside[in.Target.Key]
	if w.fenced && what != "read" {
		if in.Fence < o.fence {
			w.tellLocked("%s: fence %d is refused, %d was seen", name, in.Fence, o.fence)
			return fmt.Errorf("fence %d is old", in.Fence)
		}
		o.fence = in.Fence
	}
	defer func() { w.tellLocked("%s: fence %d: %v", name, in.Fence, err) }()
	return do(o, d)
}

func (k kind) refuses(d *rand.Rand) bool { return !k.p.w.calm && hits(d, k.p.w.refusal) }
