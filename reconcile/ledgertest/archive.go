package ledgertest

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// An ArchiveStore is a Store whose ledgers are archives, and ledgers of work, too.
type ArchiveStore interface {
	Store
	// Import makes further data of an export, on the same clock.
	Import(t *testing.T, from io.Reader) (ArchiveStore, error)
	// Look opens the data as a process does that only reads. The store closes what it opens so.
	Look(t *testing.T) reconcile.Archive
}

// RunArchive runs the suite of reconcile.Archive, each test on data of its own.
func RunArchive(t *testing.T, store func(t *testing.T) ArchiveStore) {
	for _, test := range slices.Concat(exports(), leavings(), prunings(), tallies()) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := store(t)
			test.run(shelf{bench: bench{T: t, store: s, l: opened(t, s)}, store: s})
		})
	}
}

type archiveTest struct {
	name string
	run  func(s shelf)
}

// A shelf is a bench with an archive on it.
type shelf struct {
	bench
	store ArchiveStore
}

func (s shelf) archive() reconcile.Archive {
	a, is := s.l.(reconcile.Archive)
	if !is {
		s.Fatalf("%T is no archive", s.l)
	}
	return a
}

func (s shelf) export() []byte {
	s.Helper()
	var b bytes.Buffer
	s.must(s.archive().Export(s.Context(), &b))
	return b.Bytes()
}

// imported is another ledger, made of an export, in which nothing has been written yet.
func (s shelf) imported(export []byte) ArchiveStore {
	s.Helper()
	other, err := s.store.Import(s.T, bytes.NewReader(export))
	s.must(err)
	return other
}

// on is the shelf of other data.
func (s shelf) on(other ArchiveStore) shelf {
	return shelf{bench: bench{T: s.T, store: other, l: opened(s.T, other)}, store: other}
}

func exports() []archiveTest {
	return []archiveTest{
		{"an export, imported and exported again, is the same", sameAgain},
		{"what is imported means the same", sameMeaning},
		{"no fence of before is valid after an import", fencesLeap},
		{"an export that is not whole is refused", notWhole},
		{"a sound ledger has no flaws, and a damaged run is one", flaws},
	}
}

// furnish puts a bit of everything into a ledger.
func (s shelf) furnish() {
	s.Helper()
	s.ask(claim("e", 3), "test:one", "test:two", "test:ünï")
	s.closed(s.started("test:one"), true)
	s.store.Advance(time.Second)
	done := s.started("test:two", "x", "y")
	s.must(s.l.Commit(s.Context(), reconcile.Batch{Under: done.Fence, Logs: []reconcile.Log{
		{Run: done.Run, Stream: "check", Text: "<é> & \"so\" \u2028 on\n"}, {Run: done.Run, Stream: "apply", Text: `{"base64":"no"}`}}}))
	s.closed(done, false)
	failed := s.started("test:two")
	later := failed.Until
	s.must(s.settle(reconcile.Settlement{Lease: failed, Expected: 2, Facts: []reconcile.Fact{reconcile.Failed{Error: "no", NotBefore: &later}},
		Report: reconcile.Report{State: reconcile.Limited, Note: "no", Run: failed.Run}, Wait: time.Minute}))
	s.must(s.write(
		reconcile.Write{Family: "marker", Key: "test:one a", Value: []byte(`{"run":"r-abcde", "change" : [1]}`)},
		reconcile.Write{Family: "approval", Key: "test:one", Value: []byte(`"text"`), TTL: time.Hour},
		reconcile.Write{Family: "held", Key: "test:one", Value: []byte(`{"base64":"eA=="}`)}))
	s.started("test:open", "z") // and stays so
	s.work("upgrade", "db", "db/1")
}

func sameAgain(s shelf) {
	s.furnish()
	first := s.export()
	if again := s.export(); !bytes.Equal(first, again) {
		s.Error("two exports of the same ledger differ")
	}
	var second bytes.Buffer
	s.must(s.imported(first).Look(s.T).Export(s.Context(), &second))
	if !bytes.Equal(first, second.Bytes()) {
		s.Errorf("%s\nwas imported and exported as\n%s", first, &second)
	}
}

// sameMeaning is fold(export) = fold(import), and everything else that is read.
func sameMeaning(s shelf) {
	s.furnish()
	runs, err := s.l.Runs(s.Context(), "", 100)
	s.must(err)
	other := s.on(s.imported(s.export()))
	if got, err := other.l.Runs(s.Context(), "", 100); err != nil || !slices.Equal(got, runs) || len(runs) != 4 {
		s.Fatalf("runs %v, %v; want %v", got, err, runs)
	}
	for _, run := range runs {
		if got, want := other.history(run), s.history(run); !reflect.DeepEqual(got, want) {
			s.Errorf("the run was %+v and is %+v", want, got)
		}
		want, err := s.l.Logs(s.Context(), run)
		s.must(err)
		if got, err := other.l.Logs(s.Context(), run); err != nil || !reflect.DeepEqual(got, want) {
			s.Errorf("its logs were %+v and are %+v, %v", want, got, err)
		}
	}
	for _, target := range []reconcile.Key{"test:one", "test:two", "test:ünï", "test:open"} {
		if got, want := other.standing(target), s.standing(target); !reflect.DeepEqual(got, want) {
			s.Errorf("the standing was %+v and is %+v", want, got)
		}
	}
	for _, family := range []string{"marker", "approval", "held"} {
		if got, want := other.records(family, ""), s.records(family, ""); !reflect.DeepEqual(got, want) || len(want) != 1 {
			s.Errorf("the records were %+v and are %+v", want, got)
		}
	}
	want, err := s.works().Item(s.Context(), "upgrade")
	s.must(err)
	got, err := other.works().Item(s.Context(), "upgrade")
	if got.Reason != want.Reason || !slices.Equal(got.Scopes, want.Scopes) || err != nil {
		s.Errorf("the work item was %+v and is %+v, %v", want, got, err)
	}
}

func fencesLeap(s shelf) {
	before := s.started("test:one")
	item := s.work("upgrade", "db")
	other := s.on(s.imported(s.export()))
	since := s.started("test:two")
	next := other.grant("test:one") // the lease of a process that never had this ledger has lapsed
	if next.Lease.Fence <= since.Fence || next.Lease.Run == since.Run {
		s.Errorf("granted %+v after fence %d, which was drawn since the export", next.Lease, since.Fence)
	}
	for _, old := range []reconcile.Lease{before, since} {
		s.refused(other.l.Check(s.Context(), old.Fence), reconcile.ErrLeaseLost)
		s.refused(other.append(old.Fence, old.Run, 2, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
	}
	if h := other.history(before.Run); h.Phase != reconcile.Expired {
		s.Errorf("the run that was open is %s", h.Phase)
	}
	err := other.works().RenewWork(s.Context(), "upgrade", item.Session.Fence, ttl)
	s.refused(err, reconcile.ErrLeaseLost)
	if by := other.reserved(bid("test:three", "db")); by.Item != "upgrade" {
		s.Errorf("reserved by %+v, want the item to keep its scopes", by)
	}
	s.must(s.l.Check(s.Context(), before.Fence)) // the original goes on
}

func notWhole(s shelf) {
	s.furnish()
	lines := bytes.SplitAfter(s.export(), []byte("\n"))
	lines = lines[:len(lines)-1]
	event := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"planned"`)) })
	for name, broken := range map[string][][]byte{
		"empty":      nil,
		"cut off":    lines[:len(lines)-1],
		"in a line":  append(slices.Clone(lines[:3]), lines[3][:10]),
		"a gap":      slices.Delete(slices.Clone(lines), event, event+1),
		"doubled":    slices.Insert(slices.Clone(lines), 1, lines[1]),
		"unknown":    replaced(lines, event, "planned", "teleported"),
		"nonsense":   slices.Insert(slices.Clone(lines), 2, []byte("nonsense\n")),
		"trailing":   append(slices.Clone(lines), lines[1]),
		"newer":      replaced(lines, 0, `"version":1`, `"version":99`),
		"no header":  lines[1:],
		"other file": {[]byte("{\"a\":1}\n")},
	} {
		if _, err := s.store.Import(s.T, bytes.NewReader(slices.Concat(broken...))); err == nil {
			s.Errorf("%s: it was imported", name)
		}
	}
}

func replaced(lines [][]byte, n int, old, with string) [][]byte {
	lines = slices.Clone(lines)
	lines[n] = []byte(strings.Replace(string(lines[n]), old, with, 1))
	return lines
}

func flaws(s shelf) {
	s.furnish()
	if found, err := s.archive().Inspect(s.Context()); err != nil || len(found) > 0 {
		s.Errorf("a sound ledger: %+v, %v", found, err)
	}
	l := s.started("test:two")
	s.store.Plant(s.T, l.Run, 2, "teleported", `{"to":"mars"}`)
	found, err := s.archive().Inspect(s.Context())
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Where, string(l.Run)) || found[0].Do == "" ||
		!strings.Contains(found[0].What, fmt.Sprint(reconcile.ErrUnknownEvent)) {
		s.Errorf("flaws %+v, %v; want one, of run %s", found, err, l.Run)
	}
}

// work starts an item.
func (s shelf) work(id reconcile.ItemID, scopes ...reconcile.Scope) reconcile.Item {
	s.Helper()
	item, err := s.works().Work(s.Context(), reconcile.WorkOrder{Item: id, Do: reconcile.WorkStarted, By: "ada", Scopes: scopes, For: ttl})
	s.must(err)
	return item
}
