package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Grant is as reconcile.Ledger says.
func (s *Store) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) (answers []reconcile.Answer, err error) {
	if len(bids) == 0 {
		return nil, nil
	}
	g := granting{bids: bids, ttl: ttl}
	s.held.grew() // also where nobody comes to know that it has
	err = s.write(ctx, "granting leases", deed{draws: true, read: g.read, decide: func(t *tx) error {
		answers = t.grant(&g)
		return nil
	}})
	if err == nil {
		err = s.tell(ctx, answers)
	}
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// tell adds to leases what is known of their targets. Whoever has the lease sees all that was asked below its fence, and nobody else
// changes anything but what is asked.
func (s *Store) tell(ctx context.Context, answers []reconcile.Answer) error {
	var targets []reconcile.Key
	for _, a := range answers {
		if a.Refused == nil {
			targets = append(targets, a.Lease.Target)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	var known standings
	err := s.look(ctx, "reading what is known of the targets of leases", func(b *pgx.Batch) {
		known.read(b, targets)
		known.readClaims(b, targets)
	})
	for i, a := range answers {
		if a.Refused == nil {
			answers[i].Standing = known.of(a.Lease.Target).At(a.Lease.Since)
		}
	}
	return err
}

// A granting is what leases are granted on.
type granting struct {
	bids []reconcile.Bid
	ttl  time.Duration
	held holders
}

func (g *granting) read(b *pgx.Batch) {
	var wanted []reconcile.Scope
	for _, bid := range g.bids {
		wanted = append(wanted, scopes(bid)...)
	}
	g.held.read(b, wanted)
}

func (t *tx) grant(g *granting) []reconcile.Answer {
	answers := make([]reconcile.Answer, len(g.bids))
	ours := map[reconcile.RunID]bool{}
	var over []reconcile.Key
	var leases []leaseRow
	var scoped []scopeRow
	for i, b := range g.bids {
		scopes := scopes(b)
		if refused := reconcile.Reserved(scopes, g.held.by); refused != nil {
			answers[i].Refused = refused
			if run := refused.(*reconcile.ReservedError).Run; !ours[run] && g.held.session[run] != t.s.options.Session {
				over = append(over, b.Target)
			}
			continue
		}
		f := t.draw()
		l := reconcile.Lease{Fence: f, Run: reconcile.NewRunID(f), Target: b.Target, Scopes: scopes, Holder: clean(t.s.options.Holder),
			Reason: clean(b.Reason), Asked: instant(stamp(b.Asked)), Since: t.now, Until: t.now.Add(g.ttl).Truncate(time.Microsecond)}
		answers[i] = reconcile.Answer{Lease: l}
		ours[l.Run] = true
		leases = append(leases, leaseRow{Fence: f, Run: l.Run, Target: l.Target, Holder: l.Holder, Session: t.s.options.Session, Node: t.s.options.Node,
			Reason: l.Reason, Asked: stamp(l.Asked), Since: l.Since, Until: l.Until})
		for n, scope := range scopes {
			g.held.by[scope] = reconcile.ReservedError{Run: l.Run, Holder: l.Holder, Until: l.Until}
			scoped = append(scoped, scopeRow{Scope: scope, Fence: f, Position: n})
		}
	}
	if len(leases) > 0 {
		t.Queue(`INSERT INTO leases (fence, run, target, holder, session, node, reason, asked, since, until)
			SELECT fence, run, target, holder, session, node, reason, asked, since, until FROM jsonb_populate_recordset(NULL::leases, $1::text::jsonb)`, rows(leases))
		t.Queue(`INSERT INTO scopes (scope, fence, position)
			SELECT scope, fence, position FROM jsonb_populate_recordset(NULL::scopes, $1::text::jsonb)`, rows(scoped))
	}
	t.tallyHandedOver(over)
	return answers
}

// A leaseRow is a row of leases, a scopeRow one of scopes.
type leaseRow struct {
	Fence   reconcile.Fence `json:"fence"`
	Run     reconcile.RunID `json:"run"`
	Target  reconcile.Key   `json:"target"`
	Holder  string          `json:"holder"`
	Session string          `json:"session"`
	Node    string          `json:"node"`
	Reason  string          `json:"reason"`
	Asked   *time.Time      `json:"asked"`
	Since   time.Time       `json:"since"`
	Until   time.Time       `json:"until"`
}

type scopeRow struct {
	Scope    reconcile.Scope `json:"scope"`
	Fence    reconcile.Fence `json:"fence"`
	Position int             `json:"position"`
}

// Holders say who holds scopes, each without the scopes, and of which process the leases among them are.
type holders struct {
	by      map[reconcile.Scope]reconcile.ReservedError
	session map[reconcile.RunID]string
}

// What keeps its scopes without a live session shows who held them last.
const holdersSQL = `SELECT scope, coalesce(leases.run, ''), coalesce(s.item, ''), coalesce(leases.holder, s.holder, ''),
		coalesce(leases.until, CASE WHEN s.state = 'active' THEN s.until END), coalesce(leases.session, '')
	FROM scopes LEFT JOIN leases USING (fence)
	LEFT JOIN work_sessions AS s ON s.fence = (SELECT max(fence) FROM work_sessions AS last WHERE last.item = scopes.item)
	WHERE scope = ANY($1::text[])`

func (h *holders) read(b *pgx.Batch, wanted []reconcile.Scope) {
	h.by, h.session = map[reconcile.Scope]reconcile.ReservedError{}, map[reconcile.RunID]string{}
	reading(b, holdersSQL, func(scan scanner) error {
		var scope reconcile.Scope
		var by reconcile.ReservedError
		var until *time.Time
		var session string
		err := scan(&scope, &by.Run, &by.Item, &by.Holder, &until, &session)
		by.Until = instant(until)
		h.by[scope], h.session[by.Run] = by, session
		return err
	}, list(wanted))
}

// scopes are what a bid asks for, the target's own first, none twice.
func scopes(b reconcile.Bid) []reconcile.Scope {
	return reconcile.Target{Key: b.Target, Scopes: b.Scopes}.Holds()
}
