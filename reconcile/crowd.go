package reconcile

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A pace is how quickly ticks end, which says how many leases are taken at once.
type pace struct {
	batch int // leases
	ended int // ticks, since
	since time.Time
}

// next is how many leases to take. A few ticks have to have ended before they tell anything: those of one batch of slow ones end at
// one moment.
func (p *pace) next(workers int, shared bool) int {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if p.ended >= workers {
		each := now.Sub(p.since) / time.Duration(p.ended)
		p.batch = int(min(most, max(1, ahead/max(1, each))))
		p.ended, p.since = 0, now
	}
	if shared && p.batch < most {
		return (p.batch + 1) / 2
	}
	return p.batch
}

// A crowd is what a pool knows of others that sweep the same targets. All of them know the same of the targets, and so have
// the same queue: whoever meets another goes on at a place of its own.
type crowd struct {
	first map[Key]bool // what is asked for by name, and never left for later
	met   bool         // others sweep too
	lost  int          // bids, since others were looked at
	looks bool         // at what others do
	dice  *rand.Rand
}

// A refusal is a target that somebody else holds a scope of.
type refusal struct {
	target Target
	why    error
}

// refuse leaves a target owed to somebody else.
func (p *pool) refuse(t Target, why error) {
	p.refused[t.Key] = refusal{t, why}
	p.count(t.Key, Report{State: Elsewhere, Note: why.Error()})
}

// avoid makes sense of bids that were lost to others.
func (p *pool) avoid(lost, bids int) {
	if lost == 0 || p.err != nil {
		return
	}
	p.crowd.met = true
	p.crowd.lost += lost
	if lost > bids/2 {
		p.queue = p.crowd.elsewhere(p.queue, p.owner())
	}
}

// elsewhere turns the queue, but for what is asked for by name, so that it begins at another place. Which is the owner's: it is
// chance, and the same each time.
func (c *crowd) elsewhere(queue []Target, owner string) []Target {
	n := slices.IndexFunc(queue, func(t Target) bool { return !c.first[t.Key] })
	if n < 0 {
		return queue
	}
	if c.dice == nil {
		h := fnv.New64a()
		h.Write([]byte(owner))
		c.dice = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	at := n + c.dice.IntN(len(queue)-n)
	return slices.Concat(queue[:n], queue[at:], queue[n:at])
}

// look reads what others have done since the queue was made, and hold, and takes that from the queue. Ticks end meanwhile.
func (p *pool) look() {
	p.crowd.lost, p.crowd.looks, p.standing = 0, true, nil // of thousands of targets there is no room for two
	p.mu.Unlock()
	standings, err := p.standings(p.ctx, p.epoch)
	var leases []Lease
	if err == nil {
		leases, err = p.Ledger.Leases(p.ctx)
	}
	p.mu.Lock()
	p.crowd.looks = false
	p.changed.Broadcast()
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return
	}
	p.standing = standings
	p.leaveOut(leases)
}

func (p *pool) leaveOut(leases []Lease) {
	held := map[Key]Lease{}
	for _, l := range leases {
		if !p.busy[l.Run] {
			held[l.Target] = l
		}
	}
	p.queue = slices.DeleteFunc(p.queue, func(t Target) bool {
		l, elsewhere := held[t.Key]
		switch s := p.standing[t.Key]; {
		case t.done(*s):
			p.count(t.Key, s.Report)
		case elsewhere:
			p.refuse(t, &ReservedError{Run: l.Run, Holder: l.Holder, Scopes: []Scope{Scope(t.Key)}, Until: l.Until})
		default:
			return false
		}
		return true
	})
}

// done tells whether nothing is owed of the target any more.
func (t Target) done(s Standing) bool { return s.Fingerprint == t.Fingerprint && !s.Owed() }

// again lets targets be tried once more that were refused and that the lease, which is back, excluded. Who held them may
// have looked for them meanwhile, and found this lease.
func (p *pool) again(back Lease) {
	for _, s := range back.Scopes {
		p.back[s] = true
	}
	for key, r := range p.refused {
		if slices.ContainsFunc(r.target.Holds(), func(s Scope) bool { return slices.Contains(back.Scopes, s) }) {
			delete(p.refused, key)
			delete(p.tried, key)
			p.tries[key]--
		}
	}
}

// excluded tells whether a lease that is back has excluded the target: who was refused for it may have left it to this process.
func (p *pool) excluded(t Target) bool {
	return slices.ContainsFunc(t.Holds(), func(s Scope) bool { return p.back[s] })
}
