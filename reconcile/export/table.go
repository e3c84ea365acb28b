package export

import (
	"slices"
	"strings"
)

// Version is that of the lines.
const Version = 1

// Schema is that of the SQLite store, by which the rows of every store are numbered: which tables there are, and which
// columns they have.
const Schema = 5

// A Table is one that an export has, its rows in the order of a key.
type Table struct {
	Name  string
	Order string // the columns of the key, with commas between
	JSON  string // the column that holds JSON, if any: it stands in the export as it is
	spec  string // the columns of the schema: a number "#", an instant "@", bytes "*", otherwise text; null where it says "?"
}

// Tables are all that an export has, each after those that its rows refer to. The sequence stands in the header, and what
// follows from the rest is left out.
func Tables() []Table {
	return []Table{
		{"runs", "fence", "", "#fence run target @opened"},
		{"events", "run, seq", "data", "run #seq @at type data"},
		{"logs", "id", "", "#id run @at stream text #cut"},
		{"claims", "target, epoch", "", "target epoch #n ?@at #asked ?#settled_n ?@settled_at"}, // standings would make them up
		{"standings", "target", "good", `target #asked ?@asked_at reason ?claim_epoch ?#claim_n ?@claim_at #claim_asked #covered ?@covered_at
			?settled_epoch ?#settled_n ?@settled_at ?@ticked #failures ?@not_before ?@since state note run #changes policy ?good fingerprint`},
		{"tallies", "target", "", `target #waiting #taken #requests #ran #coalesced #held #handed_over #dropped
			#ticks_ok #ticks_failing #ticks_held #ticks_unknown #ticks_limited #ticks_expired`},
		{"records", "family, key", "value", "family key #revision *value ?@expires"},
		{"leases", "fence", "", "#fence run target holder session boot reason ?@asked @since @until node"},
		{"work_items", "item", "", "item"},
		{"work_events", "item, seq", "data", "item #seq @at type data"},
		{"work_sessions", "fence", "", "#fence item holder @since ?@until state"},
		{"scopes", "scope", "", "scope ?#fence #position ?item"},
	}
}

// A Kind is what a column holds.
type Kind byte

// The kinds of columns.
const (
	Text  Kind = iota
	Whole      // a number
	Time       // an instant, as Instant reads it
	Bytes      // which stand as base64 unless they are JSON in its place
)

// A Column is one of a table.
type Column struct {
	Name string
	Kind Kind
	JSON bool // it is its table's column of JSON
	Null bool // it may be empty
}

// Columns are those that the table has in Schema, in their order.
func (t Table) Columns() (columns []Column) {
	for word := range strings.FieldsSeq(t.spec) {
		c := Column{Name: strings.TrimLeft(word, "#@*?")}
		for _, mark := range strings.TrimSuffix(word, c.Name) {
			switch mark {
			case '#':
				c.Kind = Whole
			case '@':
				c.Kind = Time
			case '*':
				c.Kind = Bytes
			case '?':
				c.Null = true
			}
		}
		c.JSON = c.Name == t.JSON
		columns = append(columns, c)
	}
	return columns
}

// tableOf finds a table by its name.
func tableOf(name string) (Table, bool) {
	all := Tables()
	i := slices.IndexFunc(all, func(t Table) bool { return t.Name == name })
	if i < 0 {
		return Table{}, false
	}
	return all[i], true
}
