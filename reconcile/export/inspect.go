package export

import (
	"encoding/json"
	"fmt"
	"slices"

	"trueup/reconcile"
)

// What an operator does about flaws.
const (
	doRestore = "restore a backup, see docs/ledger.md#backups"
	doNothing = "nothing is decided on it, and the rest goes on; a newer trueup may read it, or a backup has it whole"
	doAge     = "nothing is decided on what was before its last start; it goes with ledger.keep"
	doDiscard = "nothing is decided on it, and what it holds stays held; a newer trueup may read it; else give that back: trueup work discard "
	doSweep   = "the next sweep sets it right; if it does not, restore a backup, see docs/ledger.md#backups"
)

// An Inspector looks for what is damaged or makes no sense among the rows of a ledger, which it is told in the order of
// Tables and of their keys. It keeps of each run as much as its name, and of a run or item the events while they are told.
type Inspector struct {
	flaws   []reconcile.Flaw
	table   string
	columns map[string]int
	values  []any
	story   Story
	spoken  map[string]bool // families that were told of
	drawn   int64           // the greatest number that a row has

	runs   map[string]*ran
	leases map[int64]*leased
	items  map[reconcile.ItemID]*held
}

// Ran is what is known of a run.
type ran struct {
	fence  int64
	target string
	opened bool // there is a row of it
	told   bool // there are events of it
	phase  reconcile.Phase
	lease  reconcile.Lease // of one that is running
	leased bool
}

// Leased is what is known of a lease.
type leased struct {
	run, target string
	scopes      []placed
}

// A placed scope has its place among those that are held with it.
type placed struct {
	at    int64
	scope reconcile.Scope
}

// NewInspector makes one that has been told nothing.
func NewInspector() *Inspector {
	i := &Inspector{spoken: map[string]bool{}, runs: map[string]*ran{}, leases: map[int64]*leased{}, items: map[reconcile.ItemID]*held{}}
	i.story.Told = i.told
	return i
}

func (i *Inspector) flaw(where, what, do string) {
	i.flaws = append(i.flaws, reconcile.Flaw{Where: where, What: what, Do: do})
}

// Row tells of a row, with its values in the order of the table's columns.
func (i *Inspector) Row(t Table, values []any) error {
	if t.Name != i.table {
		i.table, i.columns = t.Name, map[string]int{}
		for n, c := range t.Columns() {
			i.columns[c.Name] = n
		}
	}
	i.values = values
	if t.Name == "work_events" && i.text("type") == "started" {
		if err := i.story.End(); err != nil { // an item is read from its last start on
			return err
		}
	}
	if err := i.story.Row(t.Name, values); err != nil {
		return err
	}
	i.instants(t)
	i.look()
	return nil
}

func (i *Inspector) text(column string) string {
	switch v := i.values[i.columns[column]].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (i *Inspector) whole(column string) int64 {
	n, _ := i.values[i.columns[column]].(int64)
	return n
}

func (i *Inspector) has(column string) bool { return i.values[i.columns[column]] != nil }

// where names what the row is about.
func (i *Inspector) where() string {
	switch i.table {
	case "runs", "events", "leases":
		return "run " + i.text("run")
	case "logs":
		return "log of run " + i.text("run")
	case "standings", "claims":
		return "target " + i.text("target")
	case "tallies":
		return "tally of " + i.text("target")
	case "records":
		return "record " + i.text("family") + " " + i.text("key")
	case "scopes":
		return "scope " + i.text("scope")
	}
	return "work item " + i.text("item")
}

// instants looks at the times of a row; those of events are the story's.
func (i *Inspector) instants(t Table) {
	if i.table == "events" || i.table == "work_events" {
		return
	}
	for _, c := range t.Columns() {
		if c.Kind == Time && i.has(c.Name) {
			if _, err := Instant(i.text(c.Name)); err != nil {
				i.flaw(i.where(), err.Error(), doRestore)
			}
		}
	}
}

// look looks at what a row says by itself, and keeps what others are held against.
func (i *Inspector) look() {
	switch i.table {
	case "runs":
		i.runs[i.text("run")] = &ran{fence: i.whole("fence"), target: i.text("target"), opened: true}
		i.drawn = max(i.drawn, i.whole("fence"))
	case "claims":
		i.drawn = max(i.drawn, i.whole("asked"))
	case "standings":
		i.standing()
	case "tallies":
		if slices.ContainsFunc(i.values, func(v any) bool { n, is := v.(int64); return is && n < 0 }) {
			i.flaw(i.where(), "it counts below zero", doRestore)
		}
	case "records":
		i.record()
	case "leases":
		i.leases[i.whole("fence")] = &leased{run: i.text("run"), target: i.text("target")}
		i.drawn = max(i.drawn, i.whole("fence"))
	case "work_items":
		i.items[reconcile.ItemID(i.text("item"))] = &held{row: true}
	case "work_sessions":
		i.session()
	case "scopes":
		i.scope()
	}
}

func (i *Inspector) standing() {
	i.drawn = max(i.drawn, i.whole("asked"), i.whole("covered"), i.whole("claim_asked"))
	if i.whole("failures") < 0 || i.whole("changes") < 0 || i.whole("asked") < 0 || i.whole("covered") < 0 {
		i.flaw(i.where(), "it counts below zero", doRestore)
	}
	if good := new(reconcile.Report); i.has("good") && json.Unmarshal([]byte(i.text("good")), good) != nil {
		i.flaw(i.where(), "its last good report is none", doRestore)
	}
}

func (i *Inspector) record() {
	var value any
	switch err := json.Unmarshal([]byte(i.text("value")), &value); {
	case err != nil:
		i.flaw(i.where(), "its value is no JSON", doRestore)
	default:
		members, _ := value.(map[string]any)
		if run, names := members["run"]; names {
			if _, is := run.(string); !is {
				i.flaw(i.where(), "its value names a run by what is no text", doRestore)
			}
		}
	}
	if n := i.whole("revision"); n < 1 {
		i.flaw(i.where(), fmt.Sprintf("its revision is %d, and the first is 1", n), doRestore)
	}
	if family := i.text("family"); !slices.Contains(reconcile.Families(), family) && !i.spoken[family] {
		i.spoken[family] = true
		i.flaw("records "+family, "a newer trueup's", "install the newer trueup, or leave them")
	}
}

func (i *Inspector) scope() {
	p := placed{i.whole("position"), reconcile.Scope(i.text("scope"))}
	if l := i.leases[i.whole("fence")]; i.has("fence") && l != nil {
		l.scopes = append(l.scopes, p)
	}
	if h := i.items[reconcile.ItemID(i.text("item"))]; i.has("item") && h != nil {
		h.scopes = append(h.scopes, p)
	}
}
