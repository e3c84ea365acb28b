package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/ledgertest"
	"trueup/reconcile/postgres/pgtest"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	ledgertest.RunArchive(t, func(t *testing.T) ledgertest.ArchiveStore { return deskOf(t) })
}

func (d *desk) Look(t *testing.T) reconcile.Archive {
	t.Helper()
	s := openWith(t, d.url, Options{Holder: "a test", ReadOnly: true})
	t.Cleanup(func() { s.Close() })
	return s
}

func (d *desk) Import(t *testing.T, from io.Reader) (ledgertest.ArchiveStore, error) {
	other := deskOf(t)
	if err := Import(t.Context(), other.url, from); err != nil {
		return nil, err
	}
	var now string
	if err := d.conn.QueryRow(t.Context(), "SELECT now::text FROM test_clock").Scan(&now); err != nil {
		t.Fatal(err)
	}
	other.exec("UPDATE test_clock SET now = $1::text::timestamptz", now)
	return other, nil
}

// TestLogsStayBelowTheirQuota: what was printed when the quota was greater is cut, the oldest first.
func TestLogsStayBelowTheirQuota(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	d.exec("INSERT INTO logs (run, at, stream, text, cut) SELECT 'r-' || n, ledger_clock(), 'check', repeat('x', 1000), 0 FROM generate_series(1, 1200) AS n")
	s := openWith(t, d.url, Options{Logs: 10_500})
	defer s.Close()
	p, err := s.Prune(t.Context(), reconcile.Retention{Keep: time.Hour})
	if err != nil || p.Logs != 1190 || p.More {
		t.Errorf("pruned %+v, %v; want 1190 logs", p, err)
	}
	var first string
	var kept, counted int
	err = d.conn.QueryRow(t.Context(), "SELECT min(run), count(*), (SELECT logs FROM usage) FROM logs").Scan(&first, &kept, &counted)
	if err != nil || first != "r-1191" || kept != 10 || counted != 10_000 {
		t.Errorf("%d logs of %d bytes are left, from %s on, %v", kept, counted, first, err)
	}
}

// TestImportsOfOthers are told why they are refused, and leave nothing.
func TestImportsOfOthers(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	for text, want := range map[string]string{
		`{"trueup":"ledger","version":1,"schema":1,"fence":7}`:    "import it with state: sqlite:///path first",
		`{"trueup":"ledger","version":1,"schema":1000,"fence":7}`: "install the newer trueup",
		"{\"trueup\":\"ledger\",\"version\":1,\"schema\":5,\"fence\":7}\n" + `{"runs":{"fence":"1","run":"r-00001","target":"a:b","opened":"2026-11-29T14:02:11.123456Z"}}`:                            "line 2: table runs: column fence: 1 is of another type",
		"{\"trueup\":\"ledger\",\"version\":1,\"schema\":5,\"fence\":7}\n" + `{"runs":{"fence":1,"run":null,"target":"a:b","opened":"2026-11-29T14:02:11.123456Z"}}`:                                   "line 2: table runs: column run: it is empty",
		"{\"trueup\":\"ledger\",\"version\":1,\"schema\":5,\"fence\":7}\n" + `{"runs":{"fence":8,"run":"r-00008","target":"a:b","opened":"2026-11-29T14:02:11.123456Z"}}` + "\n{\"end\":{\"rows\":1}}": "run r-00008: it was opened and has no events (the first of 2",
	} {
		err := Import(t.Context(), d.url, strings.NewReader(text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var left int
	if err := d.conn.QueryRow(t.Context(), "SELECT count(*) FROM runs").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d runs are left, %v", left, err)
	}
}

// TestLeaveBesideWriters closes a ledger while others write to it: what they were told was written is what was carried.
func TestLeaveBesideWriters(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := openWith(t, url, Options{})
	defer s.Close()
	var wrote atomic.Int64
	var writers sync.WaitGroup
	for n := range 4 {
		other := openWith(t, url, Options{})
		defer other.Close()
		writers.Go(func() {
			for i := 0; ; i++ {
				err := other.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: fmt.Sprint(n, "-", i), Value: []byte("{}")}},
					Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}})
				if err != nil {
					if !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), "it has moved to elsewhere") {
						t.Errorf("a writer was told %v", err)
					}
					return
				}
				wrote.Add(1)
			}
		})
	}
	for late := time.Now().Add(time.Minute); wrote.Load() < 40 && time.Now().Before(late); {
		<-time.After(5 * time.Millisecond)
	}
	var carried bytes.Buffer
	if err := s.Leave(t.Context(), "elsewhere", func(ctx context.Context) error { return s.Export(ctx, &carried) }); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	if got := int64(bytes.Count(carried.Bytes(), []byte(`{"records":`))); got != wrote.Load() {
		t.Errorf("%d records were carried, and %d were written", got, wrote.Load())
	}
}

// TestPruneMuch cuts what has become old of many targets, whatever the planner believes there is.
func TestPruneMuch(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	s := openWith(t, d.url, Options{Patience: 3 * time.Second})
	defer s.Close()
	const targets, old = 10_000, 3000
	d.exec(`INSERT INTO standings (target, asked, reason, claim_asked, covered, failures, state, note, run, changes, policy, good, fingerprint)
		SELECT 'test:' || n, 1, '', 0, 2, 0, 'ok', '', 'r-now-' || n, 0, '', '{"state":"ok","note":"' || repeat('x', 300) || '","run":"r-' || n || '"}', '' FROM generate_series(1, $1::int) AS n`, targets)
	d.exec("INSERT INTO runs SELECT n, 'r-' || n, 'test:' || n % 100, ledger_clock() - interval '1 year' FROM generate_series(9001, $1::int + 9000) AS n", old)
	d.exec("INSERT INTO events SELECT run, 1, opened, 'succeeded', '{}' FROM runs")
	p, err := s.Prune(t.Context(), reconcile.Retention{Keep: time.Hour})
	if err != nil || p.Runs != old-1000 || p.More {
		t.Errorf("pruned %+v, %v; want all but those that standings name", p, err)
	}
}

// TestNoByteZero: what PostgreSQL cannot read stands nowhere, so that views and pruning go on.
func TestNoByteZero(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	s := openWith(t, d.url, Options{})
	defer s.Close()
	const note = "a\x00b\\u0000c\xff"
	l := lease(t, s, "test:one")
	end := quiet(l)
	end.Expected, end.Facts = 0, []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Failed{Error: note}}
	end.Report.Note, end.Logs = note, []reconcile.Log{{Run: l.Run, Stream: "check", Text: note}}
	settle(t, s, end)
	held := []byte(`{"run":"` + string(l.Run) + `","why":"a\u0000b\\u0000c"}`)
	commits(t, s, reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: "test:one", Value: held}}})
	if _, err := s.Work(t.Context(), reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkStarted, By: "ada", Note: note, Scopes: []reconcile.Scope{"x"}, For: ttl}); err != nil {
		t.Fatal(err)
	}
	read := func(address string) {
		t.Helper()
		for query, want := range map[string]string{"SELECT why FROM runs_now": "a\ufffdb\\u0000c", "SELECT reason FROM work_now": "a\ufffdb\\u0000c\ufffd",
			"SELECT good::json ->> 'note' FROM standings": "a\ufffdb\\u0000c\ufffd"} {
			var got string
			if err := rawConn(t, address).QueryRow(t.Context(), query).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %q, %v; want %q", query, got, err, want)
			}
		}
	}
	read(d.url)
	d.Advance(time.Hour)
	if _, err := s.Prune(t.Context(), reconcile.Retention{Keep: time.Minute}); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := s.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	other := deskOf(t)
	if err := Import(t.Context(), other.url, strings.NewReader(strings.ReplaceAll(out.String(), "\ufffd", `\u0000`))); err != nil {
		t.Fatal(err)
	}
	read(other.url)
}
