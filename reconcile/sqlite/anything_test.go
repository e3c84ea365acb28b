package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

// TestExportOfAnything: whatever decided commands and odd values have put into a ledger, it folds to the same once it is
// exported and imported, and exports the same.
func TestExportOfAnything(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "size=64m") // which syncs in no time
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(disk, "")
		if err != nil {
			r.Fatal(err)
		}
		path, other := filepath.Join(dir, "state.db"), filepath.Join(dir, "other.db")
		s, err := Open(t.Context(), path, Options{Holder: rapid.String().Draw(r, "holder")})
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		defer s.Close()
		for range rapid.IntRange(1, 3).Draw(r, "runs") {
			anyRun(t, r, s)
		}
		anyRecord(t, r, s)
		first := exportedOf(t, r, s)
		if err := Import(t.Context(), other, bytes.NewReader(first)); err != nil {
			r.Fatalf("%v in\n%s", err, first)
		}
		o, err := Open(t.Context(), other, Options{ReadOnly: true})
		if err != nil {
			r.Fatal(err)
		}
		defer o.Close()
		if second := exportedOf(t, r, o); !bytes.Equal(first, second) {
			r.Fatalf("%s\nwas imported and exported as\n%s", first, second)
		}
		alike(t, r, s, o)
	})
}

func exportedOf(t *testing.T, r *rapid.T, s *Store) []byte {
	var b bytes.Buffer
	if err := s.Export(t.Context(), &b); err != nil {
		r.Fatal(err)
	}
	return b.Bytes()
}

// anyRun decides and records commands in any order that fits.
func anyRun(t *testing.T, r *rapid.T, s *Store) {
	target := reconcile.Key("test:" + rapid.StringMatching(`[a-z]{1,3}`).Draw(r, "target"))
	answers, err := s.Grant(t.Context(), []reconcile.Bid{{Target: target, Reason: rapid.String().Draw(r, "reason")}}, time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	if answers[0].Refused != nil {
		return
	}
	l := answers[0].Lease
	facts := []reconcile.Fact{reconcile.Leased{Lease: l}}
	events := []reconcile.Event{{Seq: 1, Fact: facts[0]}}
	plan := reconcile.Plan{{ID: "a", Op: reconcile.Create, Text: rapid.String().Draw(r, "text")}, {ID: "b", Op: reconcile.Remove, Once: true}}
	for range rapid.IntRange(0, 8).Draw(r, "commands") {
		h, err := reconcile.Fold(events)
		if err != nil {
			r.Fatal(err)
		}
		more, err := h.Decide(rapid.SampledFrom([]reconcile.Command{
			reconcile.Propose{Plan: plan}, reconcile.Propose{Plan: plan, Hold: []string{"b"}, Why: rapid.String().Draw(r, "why")},
			reconcile.Begin{Change: "b"}, reconcile.Finish{Change: "a", Took: time.Second}, reconcile.Finish{Change: "b", Err: errors.New("no\n")},
			reconcile.Recover{Run: "r-abcde", Change: "a"}, reconcile.Close{}, reconcile.Close{Err: errors.New(rapid.String().Draw(r, "error"))},
			reconcile.Reject{By: "bob"},
		}).Draw(r, "command"))
		if err != nil {
			continue
		}
		for _, f := range more {
			events = append(events, reconcile.Event{Seq: len(events) + 1, Fact: f})
		}
		facts = append(facts, more...)
	}
	b := reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: facts}}, Logs: []reconcile.Log{
		{Run: l.Run, Stream: rapid.String().Draw(r, "stream"), Text: string(rapid.SliceOf(rapid.Byte()).Draw(r, "log"))}}}
	if err := s.Commit(t.Context(), b); err != nil {
		r.Fatal(err)
	}
	if h, err := reconcile.Fold(events); err == nil && h.Phase != reconcile.Running { // as a settlement leaves it
		if err := s.writer.transact(t.Context(), func() error {
			_, err := s.writer.exec("DELETE FROM leases WHERE fence = ?", int64(l.Fence))
			return err
		}); err != nil {
			r.Fatal(err)
		}
	}
}

func anyRecord(t *testing.T, r *rapid.T, s *Store) {
	value := rapid.SampledFrom([]string{`{}`, `[]`, ` {"a": 1}`, "{\n}", `{"base64":"eA=="}`, `{"base64":1}`, `"x"`, `7`, `null`, "{}\t"}).Draw(r, "value")
	write := reconcile.Write{Family: "held", Key: rapid.String().Draw(r, "key"), Value: []byte(value)}
	ask := reconcile.Ask{Targets: []reconcile.Key{"test:one"}, Reason: rapid.String().Draw(r, "asked"), Claim: &reconcile.Claim{Epoch: "e", N: rapid.Uint64Range(0, 1<<62).Draw(r, "n")}}
	if err := s.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{write}, Ask: []reconcile.Ask{ask}}); err != nil {
		r.Fatal(err)
	}
}

// alike wants two ledgers to mean the same.
func alike(t *testing.T, r *rapid.T, one, two *Store) {
	runs, err := one.Runs(t.Context(), "", 100)
	if err != nil {
		r.Fatal(err)
	}
	for _, run := range runs {
		first, err1 := one.Events(t.Context(), run)
		second, err2 := two.Events(t.Context(), run)
		h, err3 := reconcile.Fold(first)
		i, err4 := reconcile.Fold(second)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			r.Fatal(err)
		}
		if !reflect.DeepEqual(h, i) {
			r.Fatalf("the run was %+v and is %+v", h, i)
		}
		logs, err1 := one.Logs(t.Context(), run)
		others, err2 := two.Logs(t.Context(), run)
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(logs, others) {
			r.Fatalf("the logs were %+v and are %+v, %v", logs, others, err)
		}
	}
	records, err1 := one.Records(t.Context(), "held", "")
	others, err2 := two.Records(t.Context(), "held", "")
	if err := errors.Join(err1, err2); err != nil || len(records) != 1 || len(others) != 1 || !bytes.Equal(records[0].Value, others[0].Value) {
		r.Fatalf("the records were %+v and are %+v, %v", records, others, err)
	}
}
