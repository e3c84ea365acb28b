package sqlite

import (
	"database/sql"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/ledgertest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, newDesk)
}

func TestWorkLedger(t *testing.T) {
	t.Parallel()
	ledgertest.RunWork(t, newDesk)
}

func newDesk(t *testing.T) ledgertest.Store { return deskOf(t) }

// deskOf is on a tmpfs, which syncs in no time: how a ledger behaves does not hang on the disk.
func deskOf(t *testing.T) *desk {
	return &desk{path: filepath.Join(tmpfs(t, "size=64m"), "state.db"), now: time.Date(2026, 11, 29, 14, 2, 11, 123456789, time.UTC)}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	ledgertest.RunArchive(t, func(t *testing.T) ledgertest.ArchiveStore {
		return deskOf(t)
	})
}

// A desk is a database in a folder of the test, with a clock that moves on demand.
type desk struct {
	path string
	mu   sync.Mutex
	now  time.Time
}

func (d *desk) Open(t *testing.T) ledgertest.Ledger {
	t.Helper()
	s, err := Open(t.Context(), d.path, Options{Holder: "a test", Clock: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (d *desk) Look(t *testing.T) reconcile.Archive {
	t.Helper()
	s, err := Open(t.Context(), d.path, Options{ReadOnly: true, Clock: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (d *desk) Import(t *testing.T, from io.Reader) (ledgertest.ArchiveStore, error) {
	other := &desk{path: filepath.Join(tmpfs(t, "size=64m"), "state.db"), now: d.clock()}
	return other, Import(t.Context(), other.path, from)
}

func (d *desk) Advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) Plant(t *testing.T, run reconcile.RunID, seq int, typ, data string) {
	t.Helper()
	raw := rawDB(t, d.path)
	if _, err := raw.Exec("REPLACE INTO events VALUES (?, ?, '2026-11-29T14:02:11.000000Z', ?, ?)", string(run), seq, typ, data); err != nil {
		t.Fatal(err)
	}
}

// rawDB is the database as any other program sees it.
func rawDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
