package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"time"
)

const timeForm = "2006-01-02T15:04:05.000000Z"

// stamp is an instant as the database keeps it: text that sorts by time, or nothing. What lies beyond four digits of a
// year, as nonsense from outside may, is the last instant that they can say.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last
	}
	return t.UTC().Format(timeForm)
}

// instant reads what stamp wrote.
func instant(text sql.NullString) (time.Time, error) {
	if !text.Valid {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text.String) // a fifth of the time that another form takes
	if err != nil || len(text.String) != len(timeForm) || !strings.HasSuffix(text.String, "Z") {
		return time.Time{}, fmt.Errorf("%q is no instant, which has the form %s", text.String, timeForm)
	}
	return at, nil
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
