package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// TestWorkNow compares what the views say of work items with what the ledger says, in each state.
func TestWorkNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	late := time.Duration(0)
	s, err := Open(t.Context(), path, Options{Clock: func() time.Time { return time.Now().Add(late) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := func(id reconcile.ItemID, lasts time.Duration) reconcile.Fence {
		item, err := s.Work(t.Context(), reconcile.WorkOrder{Item: id, Do: reconcile.WorkStarted, By: "ada", For: lasts, Note: "why " + string(id),
			Scopes: []reconcile.Scope{"b/" + reconcile.Scope(id), "a/" + reconcile.Scope(id)}})
		if err != nil {
			t.Fatal(err)
		}
		return item.Session.Fence
	}
	move := func(id reconcile.ItemID, do reconcile.WorkFactType, f reconcile.Fence) {
		if _, err := s.Work(t.Context(), reconcile.WorkOrder{Item: id, Do: do, By: "bob", Fence: f, For: time.Hour, Note: string(do)}); err != nil {
			t.Fatal(err)
		}
	}
	begin("at-work", time.Hour)
	move("blocked", reconcile.WorkBlocked, begin("blocked", time.Hour))
	move("checked", reconcile.WorkCheckpointed, begin("checked", time.Minute))
	move("gone", reconcile.WorkEnded, begin("gone", time.Hour))
	begin("paused", 0)
	move("reviewed", reconcile.WorkReviewed, begin("reviewed", time.Hour))
	late = -time.Hour
	begin("unlapsed", time.Minute)
	late = 0
	items, err := s.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, holds := "item|state|holder|fence|scopes|reason|note", "scope|holder|item|fence|reason"
	for _, i := range items {
		note := i.Note
		if i.ID == "unlapsed" {
			note = "" // it is recorded with the next write
		}
		now += fmt.Sprintf("\n%s|%s|%s|%d|%s %s|%s|%s", i.ID, i.State, i.Session.Holder, i.Session.Fence, i.Scopes[0], i.Scopes[1], i.Reason, note)
	}
	if got := shell(t, path, "select item, state, holder, fence, scopes, reason, note from work_now"); got != now || len(items) != 6 {
		t.Errorf("work_now:\n%s\nwant:\n%s", got, now)
	}
	for _, id := range strings.Fields("at-work blocked checked paused reviewed unlapsed") { // by their fences
		for _, i := range items {
			if string(i.ID) == id {
				for _, scope := range i.Scopes {
					holds += fmt.Sprintf("\n%s|ada|%s|%d|%s", scope, id, i.Session.Fence, i.Reason)
				}
			}
		}
	}
	if got := shell(t, path, "select scope, holder, item, fence, reason from who_holds"); got != holds {
		t.Errorf("who_holds:\n%s\nwant:\n%s", got, holds)
	}
	ends := shell(t, path, "select item from work_now where until is not null")
	if ends != "item\nat-work\nchecked\nunlapsed" {
		t.Errorf("those with an end are:\n%s", ends)
	}
}

// TestMigrateScopes brings a database from before work items up to date while a lease is live: its scopes stay held.
func TestMigrateScopes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).UTC().Format(export.TimeForm)
	_, err = rawDB(t, path).Exec(texts[0] + fmt.Sprintf(`;PRAGMA user_version = 1; PRAGMA application_id = %d;
		UPDATE sequence SET last = 7;
		INSERT INTO leases VALUES (7, 'r-7', 'test:one', 'an older trueup', '', '', '', NULL, '%s', '%s');
		INSERT INTO scopes VALUES ('test:one', 7, 0), ('x', 7, 1)`, application, until, until))
	if err != nil {
		t.Fatal(err)
	}
	s := reopen(t, path)
	// Only the lapse ends it, so the row is looked at before any write.
	if got := shell(t, path, "select scope, run, fence, item from who_holds"); got != "scope|run|fence|item\ntest:one|r-7|7|\nx|r-7|7|" {
		t.Errorf("who_holds after the migration:\n%s", got)
	}
	if _, err := rawDB(t, path).Exec("INSERT INTO scopes (scope, position, item) VALUES ('x', 0, 'disk')"); err == nil {
		t.Error("a scope that a lease holds can be taken by an item")
	}
	taken(t, s, "test:one", false) // its process is gone
	if n := number(t, path, "SELECT count(*) FROM scopes WHERE scope = 'x'"); n != 0 {
		t.Error("a scope outlived its lease")
	}
}
