package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestOpenedAtOnce: whoever comes first makes the tables, and the others find them.
func TestOpenedAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			lease(t, s, reconcile.Key("test:"+strings.ToLower(s.options.Session)))
		})
	}
	all.Wait()
}

// TestNotMade: who only reads, or wants a ledger that is there, makes none.
func TestNotMade(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for _, o := range []Options{{ReadOnly: true}, {Existing: true}} {
		if _, err := Open(t.Context(), url, o); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, reconcile.ErrUnwritable) {
			t.Errorf("%+v: %v, want fs.ErrNotExist", o, err)
		}
	}
	if n := number(t, url, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"); n != 0 {
		t.Errorf("%d tables were made", n)
	}
	opened(t, url)
	reader := openWith(t, url, Options{ReadOnly: true})
	defer reader.Close()
	_, granting := reader.Grant(t.Context(), []reconcile.Bid{bid("test:one")}, ttl)
	_, renewing := reader.Renew(t.Context(), []reconcile.Fence{1}, ttl)
	for what, err := range map[string]error{"commit": reader.Commit(t.Context(), reconcile.Batch{}), "grant": granting, "renew": renewing} {
		if !errors.Is(err, reconcile.ErrUnwritable) {
			t.Errorf("%s by a reader: %v", what, err)
		}
	}
	if all, err := reader.Standings(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("standings %v, %v", all, err)
	}
}

// TestSchemas refuses what this trueup does not know, and what is not a ledger.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql, want string
		made      bool
	}{
		"newer":   {"UPDATE trueup_schema SET version = version + 1", "newer than this trueup", true},
		"foreign": {"CREATE TABLE events (id int)", "another program's tables", false},
		"logs":    {"CREATE TABLE logs (id int)", "another program's tables", false},
		"empty":   {"CREATE TABLE trueup_schema (version int)", "another program's tables", false},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			if c.made {
				opened(t, url)
			}
			if _, err := rawConn(t, url).Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), url, Options{})
			if !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestUnfitServers says what is wrong with servers that the tests do not have.
func TestUnfitServers(t *testing.T) {
	t.Parallel()
	good := server{version: Oldest * 10000, encoding: "UTF8", path: `"$user", public`, schema: "public", bytes: "hex"}
	for want, change := range map[string]func(s *server){
		"":                        func(*server) {},
		"or newer is needed":      func(s *server) { s.version = 140020 },
		"ENCODING 'UTF8'":         func(s *server) { s.encoding = "SQL_ASCII" },
		"CREATE SCHEMA":           func(s *server) { s.schema = "" },
		"another program's":       func(s *server) { s.foreign = true },
		"bytea_output = hex":      func(s *server) { s.bytes = "escape" },
		"dropped the search_path": func(s *server) { s.path = "public" },
	} {
		s := good
		change(&s)
		err := s.fit(`"$user",public`)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestOpenFails has each error say what, where and what to do, be unwritable, come in time, and show no password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	here := server.Address("public")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	tcp := server.TCP("public")
	for want, address := range map[string]string{
		"refuses the user or the password": strings.Replace(tcp, "trueup@", "trueup:s3cr%2Fet@", 1),
		"database does not exist":          strings.Replace(here, "/trueup?", "/nowhere?", 1),
		"no schema of its search_path":     server.Address("nowhere"),
		"cannot be reached":                "postgres://ada:s3cr%2Fet@127.0.0.1:1/trueup?sslmode=disable",
		"127.0.0.1:1 (127.0.0.1): dial":    "postgres://ada:s3cr%2Fet@127.0.0.1:1,127.0.0.1:2/trueup", // with TLS and without
		"timeout":                          fmt.Sprintf("postgres://ada:s3cr%%2Fet@%s/trueup?sslmode=disable&connect_timeout=1", silent.Addr()),
		"statement_timeout":                pgtest.URL(t) + "&statement_timeout=1",
		"its address cannot be read":       "postgres://ada:s3cr/et@[::1/x",
		"and the password in PGPASSFILE":   "postgres://ada:s3cr/et@host/x",
		"no such file":                     "postgres://ada:s3cr%2Fet@host/x?sslmode=verify-full&sslrootcert=/nowhere",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := Open(t.Context(), address, Options{Patience: 3 * time.Second})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "opening ledger postgres://") {
				t.Fatalf("got %v, want %q", err, want)
			}
			if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, "s3cr") {
				t.Errorf("it shows the password: %s", text)
			}
			if text := err.Error(); strings.Contains(text, "\n") || strings.Count(text, "127.0.0.1:1 ") > 1 {
				t.Errorf("it says things in several lines, or twice: %q", text)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if !strings.Contains(err.Error(), "its address") && !errors.Is(err, reconcile.ErrUnwritable) {
				t.Errorf("%v is not ErrUnwritable", err)
			}
		})
	}
}

// TestSaid: what the tests cannot bring about is explained all the same.
func TestSaid(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"53100": "disk of its server is full", "25006": "standby", "57P03": "starting", "08006": "lost", "55P03": "locked", "22012": ""} {
		if got := said(code); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// TestSuperseded is a host whose process died without a word (PGL-05, LCK-20): its next session ends what the last one held, at
// once, and no other host's.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	dead, other := openWith(t, url, Options{Node: "a", Holder: "sweep on a"}), openWith(t, url, Options{Node: "b"})
	defer dead.Close()
	defer other.Close()
	l, kept := lease(t, dead, "test:one", "x"), lease(t, other, "test:two")
	next := openWith(t, url, Options{Node: "a"})
	defer next.Close()
	own := lease(t, next, "test:three")
	if n, err := next.Supersede(t.Context(), "a"); err != nil || n != 1 {
		t.Fatalf("%d leases were ended, %v; want 1", n, err)
	}
	for f, live := range map[reconcile.Fence]bool{l.Fence: false, kept.Fence: true, own.Fence: true} {
		if err := other.Check(t.Context(), f); (err == nil) != live || err != nil && !errors.Is(err, reconcile.ErrLeaseLost) {
			t.Errorf("fence %d: %v, want it live: %t", f, err, live)
		}
	}
	again := lease(t, next, "test:one", "x")
	if again.Fence <= l.Fence || again.Run == l.Run {
		t.Errorf("granted %+v after %+v", again, l)
	}
	events, err := next.Events(t.Context(), l.Run)
	if err != nil || len(events) != 2 || events[1].Fact != (reconcile.LeaseExpired{Why: "its node began another session"}) {
		t.Errorf("its run is %+v, %v", events, err)
	}
	if lost, err := dead.Renew(t.Context(), []reconcile.Fence{l.Fence}, ttl); err != nil || len(lost) != 1 {
		t.Errorf("lost %v, %v", lost, err)
	}
	answers, err := dead.Settle(t.Context(), []reconcile.Settlement{quiet(l)})
	if err != nil || !errors.Is(answers[0], reconcile.ErrLeaseLost) {
		t.Errorf("settled under a superseded lease: %v, %v", answers, err)
	}
}

// TestTextsOfCommands: what commands print is kept, whatever it is, as near as the database can.
func TestTextsOfCommands(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := openWith(t, url, Options{Holder: "a\x00\xff", Logs: 100})
	defer s.Close()
	l := lease(t, s, "test:one")
	end := reconcile.Settlement{Lease: l, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Failed{Error: "no\x00\xffway"}},
		Report: reconcile.Report{State: reconcile.Failing, Note: "no\x00\xffway", Run: l.Run}}
	for i := range 5 {
		end.Logs = append(end.Logs, reconcile.Log{Run: l.Run, Stream: fmt.Sprint("check ", i), Text: strings.Repeat("x", 30) + "\x00\xff"})
	}
	settle(t, s, end)
	logs, err := s.Logs(t.Context(), l.Run)
	if err != nil || len(logs) != 2 || logs[1].Stream != "check 4" || logs[1].Text != strings.Repeat("x", 30)+"\ufffd\ufffd" {
		t.Errorf("logs %+v, %v; want the last two, within the quota", logs, err)
	}
	if kept := number(t, url, "SELECT logs FROM usage"); kept != 72 {
		t.Errorf("%d bytes are counted", kept)
	}
	events, err := s.Events(t.Context(), l.Run)
	if err != nil || len(events) != 2 {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestKeysThatDoNotFit harm their own tick only.
func TestKeysThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.URL(t))
	ends := []reconcile.Settlement{quiet(lease(t, s, "test:one")), quiet(lease(t, s, "test:two")), quiet(lease(t, s, "test:three"))}
	for i, key := range []string{"a\x00b", strings.Repeat("x", 3000)} {
		ends[i].Facts = []reconcile.Fact{reconcile.Leased{Lease: ends[i].Lease}, reconcile.Succeeded{}}
		ends[i].Records = []reconcile.Write{{Family: "marker", Key: key, Value: []byte("x")}}
	}
	answers, err := s.Settle(t.Context(), ends)
	if err != nil || !errors.Is(answers[0], reconcile.ErrUndecidable) || !errors.Is(answers[1], reconcile.ErrUndecidable) || answers[2] != nil {
		t.Errorf("answers %v, %v; want the first two refused", answers, err)
	}
}

// TestClosed: a closed store gives back what it holds, at once.
func TestClosed(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s, other := openWith(t, url, Options{}), opened(t, url)
	l := lease(t, s, "test:one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if by := lease(t, other, "test:one"); by.Fence <= l.Fence {
		t.Errorf("fence %d after %d", by.Fence, l.Fence)
	}
	if n := number(t, url, "SELECT count(*) FROM receipts"); n > 4 {
		t.Errorf("%d receipts are left", n)
	}
	if _, err := other.Events(context.Background(), l.Run); err != nil {
		t.Errorf("its run: %v", err)
	}
}
