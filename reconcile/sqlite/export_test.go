package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/export"
)

// TestExportKnowsEveryTable fails for a table that a migration adds and an export does not have.
func TestExportKnowsEveryTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	reopen(t, path)
	elsewhere := map[string]string{"sequence": "in the header", "usage": "follows from the logs"}
	for name := range strings.FieldsSeq(shell(t, path, "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")) {
		known := slices.ContainsFunc(export.Tables(), func(t export.Table) bool { return t.Name == name })
		if !known && name != "name" && elsewhere[name] == "" {
			t.Errorf("table %s is not exported: put it into export.Tables(), after those that it refers to", name)
		}
	}
	if len(elsewhere) != 2 || number(t, path, "SELECT count(*) FROM pragma_table_info('sequence')") != 2 {
		t.Error("the sequence has further columns: put them into the header of an export")
	}
}

func exported(t *testing.T, s *Store) [][]byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Export(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b.Bytes(), []byte("\n"))
	return lines[:len(lines)-1]
}

// TestImportNamesTheLine wants the line and the reason where an export was damaged, and nothing left behind.
func TestImportNamesTheLine(t *testing.T) {
	t.Parallel()
	s := reopen(t, filepath.Join(t.TempDir(), "state.db"))
	ran(t, s, "test:one", 2, 10)
	sound := exported(t, s)
	if len(sound) != 2+2+4+2+1+1 {
		t.Fatalf("%d lines", len(sound))
	}
	dir := tmpfs(t, "size=64m")
	for name, c := range map[string]struct {
		line      int // from 1
		old, with string
		says      string
	}{
		"no JSON":         {3, "}}", "}", "line 3: unexpected end of JSON input"},
		"unknown table":   {2, "runs", "songs", "line 2: table songs: there is no such table"},
		"unknown column":  {2, `"opened"`, `"closed"`, "line 2: table runs: it lacks the column opened"},
		"column too many": {2, `"opened"`, `"a":1,"opened"`, `line 2: table runs: it has an unknown column "a"`},
		"two rows":        {2, `{"runs"`, `{"a":{},"runs"`, "line 2: it has 2 rows, and not one"},
		"doubled table":   {2, `{"runs"`, `{"runs":{},"runs"`, `line 2: it has "runs" twice`},
		"doubled column":  {2, `"opened"`, `"fence":1,"opened"`, `line 2: table runs: it has "fence" twice`},
		"doubled fence":   {1, `"fence"`, `"fence":7,"fence"`, `line 1: it has "fence" twice`},
		"no row":          {2, "{", "{}\n{", "line 2: it has 0 rows, and not one"},
		"null":            {2, "{", "null\n{", "line 2: it is no object of JSON"},
		"null for a row":  {2, "{", "{\"runs\":null}\n{", "line 2: table runs: it is no object of JSON"},
		"null for an end": {12, `{"rows":10}`, `null`, "line 12: it is no object of JSON"},
		"yesterday":       {2, `"opened":"2`, `"opened":"yesterday 2`, "run r-n0zmm: \"yesterday 2026"},
		"wrong type":      {2, `"fence":1`, `"fence":"one"`, "line 2: table runs:"},
		"broken number":   {2, `"fence":1`, `"fence":1.5`, "line 2: table runs: column fence: 1.5 is no whole number"},
		"lost column":     {4, `"seq":1,`, ``, "line 4: table events: it lacks the column seq"},
		"gap":             {5, `"seq":2`, `"seq":3`, "line 5: table events: event 3 of run r-a1y99 follows event 1"},
		"no beginning":    {4, `"seq":1`, `"seq":7`, "line 4: table events: event 7 follows event 0"},
		"unknown event":   {5, `"succeeded"`, `"teleported"`, "line 5: table events: event 2 of r-a1y99: unknown type of event"},
		"strange data":    {4, `"data":{`, `"data":{"fence":"x",`, "reading an event of type leased"},
		"another run's":   {4, `"target":"test:one"`, `"target":"test:two"`, "its first event is of run"},
		"other's events":  {2, `"run":"`, `"run":"x`, "it has events and was never opened"},
		"fence undrawn":   {1, `"fence":2`, `"fence":1`, "it was drawn, and the sequence is behind it"},
		"fence below all": {1, `"fence":2`, `"fence":-5`, "line 1: -5 is no number that was drawn"},
		"fence above all": {1, `"fence":2`, `"fence":9223372036854775807`, "line 1: 9223372036854775807 is no number that was drawn"},
		"rows lost":       {12, `"rows":10`, `"rows":11`, "line 12: 11 rows were to come, and 10 did"},
		"a record twice":  {11, "\n", "\n{\"records\":{\"family\":\"held\",\"key\":\"k\",\"revision\":1,\"value\":{},\"expires\":null}}\n{\"records\":{\"family\":\"held\",\"key\":\"k\",\"revision\":1,\"value\":{},\"expires\":null}}\n", "line 13: table records: "},
	} {
		lines := slices.Clone(sound)
		if !bytes.Contains(lines[c.line-1], []byte(c.old)) {
			t.Fatalf("%s: there is no %s in %s", name, c.old, lines[c.line-1])
		}
		lines[c.line-1] = bytes.Replace(lines[c.line-1], []byte(c.old), []byte(c.with), 1)
		err := Import(t.Context(), filepath.Join(dir, "new.db"), bytes.NewReader(slices.Concat(lines...)))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got error %v, want one line that says %q", name, err, c.says)
		}
	}
	alone(t, dir)
}

// TestImportOfAnOlderSchema brings the rows of an older trueup up to date.
func TestImportOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	err := Import(t.Context(), path, strings.NewReader(`{"trueup":"ledger","version":1,"schema":1,"fence":7}
{"leases":{"fence":7,"run":"r-00007","target":"test:one","holder":"h","session":"s","boot":"b","reason":"","asked":null,"since":"2026-11-29T14:02:11.000000Z","until":"2026-11-29T14:17:11.000000Z"}}
{"scopes":{"scope":"test:one","fence":7,"position":0}}
{"end":{"rows":2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	sane(t, path)
	if l := try(t, reopen(t, path), "test:one").Lease; l.Fence <= leap {
		t.Errorf("granted %+v", l)
	}
}

func TestImportKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	s := reopen(t, path)
	lines := slices.Concat(exported(t, s)...)
	if err := Import(t.Context(), path, bytes.NewReader(lines)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a ledger: %v", err)
	}
	small := tmpfs(t, "size=64k")
	if err := Import(t.Context(), filepath.Join(small, "new.db"), bytes.NewReader(lines)); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("on a full disk: %v", err)
	}
	alone(t, small)
}

// TestKilledInImport kills importers at any instant: there is no ledger, or the whole of it.
func TestKilledInImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "source.db")
	stuffed(t, source, 200, 200)
	s := reopen(t, source)
	whole := slices.Concat(exported(t, s)...)
	file := filepath.Join(dir, "export.jsonl")
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	first := start(t, "upkeep", source)
	begun := time.Now()
	first.number("import " + file + " " + filepath.Join(dir, "new.db"))
	took := time.Since(begun)
	there := 0
	for round := range rounds(5, 300) {
		path := filepath.Join(dir, fmt.Sprintf("new%d.db", round))
		c := start(t, "upkeep", source)
		c.order("import %s %s", file, path)
		time.AfterFunc(rand.N(2*took), func() { _ = c.cmd.Process.Kill() })
		c.answer()
		c.kill()
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		there++
		r, err := Open(t.Context(), path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Concat(exported(t, r)...); !bytes.Equal(got, whole) {
			t.Errorf("round %d: what is there is not what was imported", round)
		}
		r.Close()
	}
	t.Logf("%d were whole, the others not there", there)
}

// TestHugeLedger: what an export or an import takes of memory does not grow with the ledger.
func TestHugeLedger(t *testing.T) {
	t.Parallel()
	grown := func(rows int) (exporting, importing int) {
		dir := t.TempDir()
		path, file, other := filepath.Join(dir, "state.db"), filepath.Join(dir, "export.jsonl"), filepath.Join(dir, "other.db")
		stuffed(t, path, rows, 64<<10)
		exporting = start(t, "upkeep", path).number("export " + file)
		importing = start(t, "upkeep", path).number("import " + file + " " + other)
		if size := number(t, other, "SELECT logs FROM usage"); size != int64(rows)*64<<10 {
			t.Errorf("%d bytes of logs were imported", size)
		}
		return exporting, importing
	}
	const few = 50
	many := rounds(300, 4000)
	more := (many - few) * 64 / 2 // half of what they are apart by, in KiB
	exporting, importing := grown(few)
	if e, i := grown(many); e > exporting+more || i > importing+more {
		t.Errorf("exporting took %d and then %d KiB, importing %d and then %d", exporting, e, importing, i)
	} else {
		t.Logf("exporting took %d and then %d KiB, importing %d and then %d", exporting, e, importing, i)
	}
}

// TestExportHasItsSchema holds what every store exports against the tables as the migrations have left them.
func TestExportHasItsSchema(t *testing.T) {
	t.Parallel()
	s := reopen(t, filepath.Join(t.TempDir(), "state.db"))
	if texts := must(steps())(t); len(texts) != export.Schema {
		t.Errorf("export.Schema is %d, and there are %d migrations", export.Schema, len(texts))
	}
	kinds := map[string]map[export.Kind]bool{"INTEGER": {export.Whole: true}, "TEXT": {export.Text: true, export.Time: true}, "BLOB": {export.Bytes: true}}
	for _, table := range export.Tables() {
		want := table.Columns()
		rows := must(s.db.QueryContext(t.Context(), `SELECT name, type, "notnull" OR pk > 0 FROM pragma_table_info(?)`, table.Name))(t)
		err := eachRow(rows, func(scan scanner) error {
			var name, typ string
			var full bool
			if err := scan(&name, &typ, &full); err != nil {
				return err
			}
			if len(want) == 0 || want[0].Name != name || !kinds[typ][want[0].Kind] || want[0].Null == full {
				t.Errorf("%s.%s is %s, never null: %t; an export has %+v", table.Name, name, typ, full, want)
			}
			want = want[min(1, len(want)):]
			return nil
		})
		if err != nil || len(want) > 0 {
			t.Errorf("%s: an export also has %+v, %v", table.Name, want, err)
		}
	}
}
