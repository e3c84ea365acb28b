package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// TestHealth sees beside the living what the dead have left, and leaves it there.
func TestHealth(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	c := start(t, "holder", path)
	_, run := c.take("test:one")
	taken(t, s, "test:two", false)
	reader, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	health := func() Health {
		t.Helper()
		h, err := reader.Health(t.Context())
		if err != nil || h.Journal != "wal" || h.Schema != latest(t) {
			t.Fatalf("health %+v, %v", h, err)
		}
		return h
	}
	if h := health(); h.Dead != 0 || len(h.Lapsed) != 0 {
		t.Errorf("while both live it is %+v", h)
	}
	c.kill()
	for range 2 {
		if h := health(); h.Dead != 1 || len(h.Lapsed) != 1 || h.Lapsed[0].Run != run {
			t.Errorf("when the holder of %s has died it is %+v", run, h)
		}
	}
	taken(t, s, "test:one", false) // and this lapses it
	if h := health(); len(h.Lapsed) != 0 {
		t.Errorf("after the next write it is %+v", h)
	}
	late, err := Open(t.Context(), path, Options{ReadOnly: true, Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if h, err := late.Health(t.Context()); err != nil || len(h.Lapsed) != 2 {
		t.Errorf("an hour later it is %+v, %v", h, err)
	}
}
