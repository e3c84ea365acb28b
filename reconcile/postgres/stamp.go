package postgres

import (
	"encoding/json"
	"time"

	"trueup/reconcile/export"
)

// stamp is an instant as the database keeps it: in microseconds, or nothing. What lies beyond four digits of a year, as
// nonsense from outside may, is the last instant that they can say.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}

// instant reads what stamp wrote.
func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// clean is a text as the database can keep it.
func clean(s string) string { return export.Plain(s) }

// cleanJSON is JSON whose texts the database can read.
func cleanJSON(s string) string { return export.PlainJSON(s) }

// list is an argument that is an array of text.
func list[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}

// cleanList is one of texts that come from outside.
func cleanList[T ~string](values []T) []string {
	texts := list(values)
	for i, text := range texts {
		texts[i] = clean(text)
	}
	return texts
}

// numbers is an argument that is an array of bigint.
func numbers[T ~uint64](values []T) []int64 {
	all := make([]int64, len(values))
	for i, v := range values {
		all[i] = int64(v)
	}
	return all
}

// rows is an argument for jsonb_populate_recordset: any number of rows in one statement.
func rows(values any) string {
	text, _ := json.Marshal(values) // rows are of texts, numbers and instants, which cannot fail to encode
	return string(text)
}
