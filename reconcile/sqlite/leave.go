package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// Leave is as reconcile.Archive says.
func (s *Store) Leave(ctx context.Context, place string, carry func(ctx context.Context) error) error {
	lapsed := s.write(ctx, "closing "+s.path, func(*tx) error { return nil }) // what has expired is carried as such
	if lapsed != nil {
		return lapsed
	}
	var failed error
	err := s.write(ctx, "closing "+s.path, func(t *tx) error {
		if err := t.free(); err != nil {
			return err
		}
		if failed = carry(ctx); failed != nil {
			return failed
		}
		return t.shut(place)
	})
	if failed != nil {
		return failed // which says itself what was being done
	}
	return err
}

// free refuses where somebody holds what no other place would know of in time.
func (t *tx) free() (err error) {
	if _, err := t.exec("UPDATE sequence SET last = last"); err != nil { // which one that has left refuses
		return err
	}
	held := t.each(`SELECT run, '', holder, until, scope FROM leases JOIN scopes USING (fence)
		UNION ALL SELECT '', item, holder, until, scope FROM work_sessions JOIN scopes USING (item) WHERE state = 'active' AND until IS NOT NULL LIMIT 1`,
		func(scan scanner) error {
			var r reconcile.ReservedError
			var until sql.NullString
			var scope reconcile.Scope
			if err := scan(&r.Run, &r.Item, &r.Holder, &until, &scope); err != nil {
				return err
			}
			r.Scopes = []reconcile.Scope{scope}
			var faulty error
			r.Until, faulty = instant(until)
			err = &r
			return faulty
		})
	if held != nil {
		return held
	}
	return err
}

// shut has the database refuse whatever is to be written, also by who has it open and by who knows nothing of this.
func (t *tx) shut(place string) error {
	word := "'" + strings.ReplaceAll(movedTo(place), "'", "''") + "'"
	names := []string{"sequence"}
	for _, table := range export.Tables() {
		names = append(names, table.Name)
	}
	for _, name := range names {
		for _, what := range []string{"INSERT", "UPDATE", "DELETE"} {
			_, err := t.exec(fmt.Sprintf("CREATE TRIGGER moved_%s_%s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, %s); END", name, strings.ToLower(what), what, name, word))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func movedTo(place string) string { return "it has moved to " + place + ": name that in state:" }
