package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"trueup/reconcile"
)

// A holding is a lease with what the store knows of its process.
type holding struct {
	reconcile.Lease
	session, boot string
}

const leaseColumns = `fence, run, target, holder, session, boot, reason, asked, since, until,
	(SELECT json_group_array(scope) FROM (SELECT scope FROM scopes WHERE scopes.fence = leases.fence ORDER BY position))`

// readLease reads a row of leaseColumns.
func readLease(scan scanner) (h holding, err error) {
	var times [3]sql.NullString
	var scopes []byte
	err = scan(&h.Fence, &h.Run, &h.Target, &h.Holder, &h.session, &h.boot, &h.Reason, &times[0], &times[1], &times[2], &scopes)
	if err != nil {
		return h, err
	}
	if err := instants(times[:], &h.Asked, &h.Since, &h.Until); err != nil {
		return h, err
	}
	return h, json.Unmarshal(scopes, &h.Scopes)
}

// attend makes sure of this process's session. Leases move to the new one when the old one's file was removed.
func (t *tx) attend() (name string, err error) {
	name, was, err := t.s.session.begin()
	if err == nil && was != "" {
		_, err = t.exec("UPDATE leases SET session = ? WHERE session = ?", name, was)
	}
	return name, err
}

// Renew is as reconcile.Ledger says. In a database that is no longer at its path every lease is lost.
func (s *Store) Renew(ctx context.Context, fences []reconcile.Fence, ttl time.Duration) (lost []reconcile.Fence, err error) {
	if len(fences) == 0 {
		return nil, nil
	}
	err = s.write(ctx, "renewing leases", func(t *tx) error {
		session, err := t.attend()
		if err != nil {
			return err
		}
		renewed := map[reconcile.Fence]bool{}
		err = t.each(`UPDATE leases SET until = ? WHERE session = ? AND fence IN (SELECT value FROM json_each(?)) RETURNING fence`, func(scan scanner) error {
			var f reconcile.Fence
			err := scan(&f)
			renewed[f] = true
			return err
		}, stamp(t.now.Add(ttl)), session, list(fences))
		lost = nil
		for _, f := range fences {
			if !renewed[f] {
				lost = append(lost, f)
			}
		}
		return err
	})
	switch {
	case err != nil && s.writer != nil && s.writer.stands() != nil:
		return fences, err
	case err != nil:
		return nil, err
	}
	return lost, nil
}
