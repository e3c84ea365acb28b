package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"trueup/reconcile"
)

// TestNoteCannotBeWritten: what is committed counts, whatever becomes of the note, which may be behind. Until it can be written
// nothing more is, so that it stays behind by one transaction.
func TestNoteCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	try(t, s, "test:one")
	err := s.write(t.Context(), "drawing a fence", func(t *tx) error {
		_, err := t.draw(1)
		return errors.Join(err, t.noteFile.Close())
	})
	if n := number(t, path, "SELECT last FROM sequence"); err != nil || n != 2 {
		t.Fatalf("after %d was committed it is taken back: %v", n, err)
	}
	note, aside := path+".fence", path+".fence.aside"
	if err := errors.Join(os.Rename(note, aside), os.Symlink(aside, note)); err != nil { // which is read and not written to
		t.Fatal(err)
	}
	for range 2 {
		unwritten(t, s.Commit(t.Context(), reconcile.Batch{}), "noting the last fence")
	}
	if err := errors.Join(os.Remove(note), os.Rename(aside, note)); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), reconcile.Batch{}); err != nil {
		t.Fatal(err)
	}
	if n, err := readNote(path); err != nil || n.last != 2 {
		t.Errorf("the note says %d, %v; want that it has caught up", n.last, err)
	}
}
