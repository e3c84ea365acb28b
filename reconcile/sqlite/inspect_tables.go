package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"trueup/reconcile"
)

// tables reads each row as the store itself does: a value that makes no sense in one of them would end every sweep, or every
// write.
func (i *inspector) tables() error {
	for _, t := range []struct {
		query string
		read  func(scan scanner) (where string, err error)
	}{
		{"SELECT " + standingColumns + " FROM standings", func(scan scanner) (string, error) {
			s, err := readStanding(scan)
			if err == nil && (s.Failures < 0 || s.Report.Changes < 0) {
				err = errors.New("it counts below zero")
			}
			return "target " + string(s.Target), err
		}},
		{"SELECT " + leaseColumns + " FROM leases", i.lease},
		{"SELECT " + recordColumns + " FROM records", func(scan scanner) (string, error) {
			r, err := readRecord(scan)
			if err == nil && r.Revision < 1 {
				err = fmt.Errorf("its revision is %d, and the first is 1", r.Revision)
			}
			return "record " + r.Family + " " + r.Key, err
		}},
		{`SELECT 'run ' || run, opened FROM runs UNION ALL SELECT 'log of run ' || run, at FROM logs
			UNION ALL SELECT 'work item ' || item, since FROM work_sessions UNION ALL SELECT 'work item ' || item, until FROM work_sessions`, func(scan scanner) (where string, err error) {
			var at sql.NullString
			if err := scan(&where, &at); err != nil {
				return where, err
			}
			_, err = instant(at)
			return where, err
		}},
	} {
		err := i.each(t.query, func(scan scanner) error {
			if where, err := t.read(scan); err != nil {
				i.flaw(where, err.Error(), doRestore)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lease reads one, and holds it against what its run says, if it has said anything yet.
func (i *inspector) lease(scan scanner) (where string, err error) {
	h, err := readLease(scan)
	told, running := i.running[h.Run]
	switch {
	case err != nil:
	case len(h.Scopes) == 0: // of which the rules tell
	case running && !slices.Equal(h.Scopes, told.Scopes):
		err = fmt.Errorf("its events lease %v, and its lease holds %v", told.Scopes, h.Scopes)
	case !slices.Contains(h.Scopes, reconcile.Scope(h.Target)):
		err = errors.New("its lease does not hold its own target")
	}
	return "run " + string(h.Run), err
}
