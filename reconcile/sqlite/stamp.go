package sqlite

import (
	"database/sql"
	"time"

	"trueup/reconcile/export"
)

// stamp is an instant as the database keeps it: text that sorts by time, or nothing.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return export.Stamp(t)
}

// instant reads what stamp wrote.
func instant(text sql.NullString) (time.Time, error) {
	if !text.Valid {
		return time.Time{}, nil
	}
	return export.Instant(text.String)
}

// instants reads several.
func instants(texts []sql.NullString, into ...*time.Time) (err error) {
	for i, text := range texts {
		if *into[i], err = instant(text); err != nil {
			return err
		}
	}
	return nil
}
