package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"trueup/reconcile"
)

func leavings() []archiveTest {
	return []archiveTest{
		{"who leaves is carried whole, and closed to all from then on", leaves},
		{"nobody leaves while something is held that ends", staysHeld},
		{"nothing has changed where it could not be carried", staysWhole},
	}
}

const elsewhere = "somewhere://else/it's"

// closedFor wants a ledger to refuse whatever is written, and to say where to write instead.
func (s shelf) closedFor(what string, l Ledger) {
	s.Helper()
	_, granted := l.Grant(s.Context(), []reconcile.Bid{bid("test:late")}, ttl)
	_, started := l.(reconcile.WorkLedger).Work(s.Context(), reconcile.WorkOrder{Item: "late", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"late"}, For: ttl})
	for did, err := range map[string]error{
		"granted": granted, "started": started,
		"asked":    l.Commit(s.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:late"}, Reason: "x"}}}),
		"recorded": l.Commit(s.Context(), reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: "late", Value: []byte("1")}}}),
		"forgot":   l.Commit(s.Context(), reconcile.Batch{Forget: []reconcile.Key{"test:one"}}),
	} {
		if !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), "it has moved to "+elsewhere) {
			s.Errorf("%s, %s: %v, want it refused, and the place", what, did, err)
		}
	}
}

func leaves(s shelf) {
	s.ask(claim("e", 3), "test:one", "test:two")
	s.closed(s.started("test:one"), false)
	_, err := s.works().Work(s.Context(), reconcile.WorkOrder{Item: reconcile.PauseID("test:two"), Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"test:two"}})
	s.must(err) // a pause moves along
	lapsing := s.started("test:two-b", "z")
	s.store.Advance(ttl)
	open := s.another()
	var carried bytes.Buffer
	s.must(s.archive().Leave(s.Context(), elsewhere, func(ctx context.Context) error { return s.archive().Export(ctx, &carried) }))
	s.closedFor("who closed it", s.l)
	s.closedFor("who had it open", open.l)
	later := s.store.Open(s.T)
	defer later.Close()
	s.closedFor("who opens it later", later)
	if got := s.export(); !bytes.Equal(got, carried.Bytes()) {
		s.Errorf("it was closed as\n%s\nand carried as\n%s", got, &carried)
	}
	again := s.archive().Leave(s.Context(), "nowhere", func(context.Context) error { s.Error("it left twice"); return nil })
	if !errors.Is(again, reconcile.ErrUnwritable) || !strings.Contains(again.Error(), "it has moved to "+elsewhere) {
		s.Errorf("leaving again: %v", again)
	}
	other := s.on(s.imported(carried.Bytes()))
	if by := other.reserved(bid("test:two")); by.Item != reconcile.PauseID("test:two") {
		s.Errorf("elsewhere it is reserved by %+v, want the pause", by)
	}
	if next := other.grant("test:one").Lease; next.Fence <= lapsing.Fence {
		s.Errorf("elsewhere fence %d was granted after %d", next.Fence, lapsing.Fence)
	}
}

func staysHeld(s shelf) {
	never := func(context.Context) error { s.Error("it was carried all the same"); return nil }
	l := s.started("test:one")
	err := s.archive().Leave(s.Context(), elsewhere, never)
	if by, is := errors.AsType[*reconcile.ReservedError](err); !is || by.Run != l.Run {
		s.Errorf("under a lease: %v, want it refused for run %s", err, l.Run)
	}
	s.closed(l, false)
	item := s.work("upgrade", "db")
	err = s.archive().Leave(s.Context(), elsewhere, never)
	if by, is := errors.AsType[*reconcile.ReservedError](err); !is || by.Item != item.ID {
		s.Errorf("under a session: %v, want it refused for the item", err)
	}
	s.grant("test:two")
}

func staysWhole(s shelf) {
	s.furnish()
	s.store.Advance(2 * ttl)
	broken := errors.New("no room")
	if err := s.archive().Leave(s.Context(), elsewhere, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		s.Errorf("it was not carried: %v", err)
	}
	s.grant("test:one")
	s.work("maintenance", "db/2")
}
