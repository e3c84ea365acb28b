package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trueup/reconcile/export"
)

// leap is how far the fences of a restored database go ahead at least.
const leap = export.Leap

// A note is the last number drawn, as it stands in a file beside the database. A backup that is put back does not put the
// note back, which then is ahead of the database: so it tells that it was, and how far the numbers had come. It also says of which sequence it is, and of
// which file: a copy of the database, with or without the note, does not pass for the original.
type note struct {
	last    int64
	lineage string
	file    string
}

// dueNote has the transaction that is under way leave a note once it is committed.
func (w *writer) dueNote() (err error) {
	if w.noteFile == nil {
		w.noteFile, err = os.OpenFile(w.path+".fence", os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o640)
	}
	if err != nil {
		return fmt.Errorf("noting the last fence: %w", err)
	}
	return nil
}

// writeNote writes the note, if one is due. It comes after the commit and is not synced, so that a kill or a power cut leaves
// it behind the database and never ahead.
func (w *writer) writeNote() error {
	if w.noteFile == nil {
		return nil
	}
	n, err := w.currentNote()
	if err == nil { // always the same length, so that nothing needs to be cut off
		_, err = fmt.Fprintf(w.noteFile, "%020d %s %-33s\n", n.last, n.lineage, n.file)
	}
	w.closeNote()
	if err != nil {
		return fmt.Errorf("noting the last fence: %w", err)
	}
	return nil
}

// catchUp writes the note that the last transaction could not leave, so that none is further ahead of it than one.
func (w *writer) catchUp() error {
	if w.unnoted == nil {
		return nil
	}
	w.unnoted = w.dueNote()
	if w.unnoted == nil {
		w.unnoted = w.writeNote()
	}
	return w.unnoted
}

func (w *writer) closeNote() {
	if w.noteFile != nil {
		w.noteFile.Close()
		w.noteFile = nil
	}
}

// currentNote is the note as it has to be now.
func (w *writer) currentNote() (n note, err error) {
	n.file = w.identity
	stmt, err := w.stmts.get("SELECT last, lineage FROM sequence")
	if err == nil {
		err = stmt.QueryRow().Scan(&n.last, &n.lineage)
	}
	if err == nil {
		err = export.Drawable(n.last)
	}
	return n, err
}

// readNote is what writeNote wrote; zero when there is nothing that can be read.
func readNote(path string) (n note, err error) {
	text, err := os.ReadFile(path + ".fence")
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("reading the last fence: %w", err)
	}
	words := strings.Fields(string(text))
	if len(words) > 0 {
		n.last, _ = strconv.ParseInt(words[0], 10, 64) // damage counts as none
	}
	if len(words) == 3 {
		n.lineage, n.file = words[1], words[2]
	}
	if err := export.Drawable(n.last); err != nil {
		return n, fmt.Errorf("%s.fence is damaged: %w; move it away, and the numbers leap", path, err)
	}
	return n, nil
}

// identity tells a file from its copies: its number, and when it was made, where the file system knows.
func identity(path string) (string, error) {
	var info unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &info); err != nil {
		return "", fmt.Errorf("looking at %s: %w", path, err)
	}
	return fmt.Sprintf("%x-%x", info.Ino, info.Btime.Sec*1e9+int64(info.Btime.Nsec)), nil
}

// resumeAtOpen sees to it that a database restored from a backup, copied or imported draws no fence that has been drawn before.
func (s *Store) resumeAtOpen(ctx context.Context) (err error) {
	if s.writer.identity, err = identity(s.path); err != nil {
		return err
	}
	if due, err := s.dueResumption(); err != nil || due == (resumption{}) {
		return explain(err)
	}
	return explain(s.writer.transact(ctx, func() error {
		_, err := s.resumeIfDue()
		return err
	}))
}

// resumeIfDue does so inside a transaction, where nobody else writes: a backup can be put back under a process that lives on.
func (s *Store) resumeIfDue() (some bool, err error) {
	due, err := s.dueResumption()
	if err == nil && due != (resumption{}) {
		some, err = true, s.resume(due)
	}
	if err != nil {
		err = fmt.Errorf("raising the fences of a restored database: %w", err)
	}
	return some, err
}

// A resumption is how the sequence of a database has to go on: after which number, and whether it is a copy's.
type resumption struct {
	after  int64
	copied bool
}

// dueResumption is zero when the sequence can go on as it is.
func (s *Store) dueResumption() (resumption, error) {
	if s.leaving {
		return resumption{}, nil
	}
	n, err := readNote(s.path)
	if err != nil {
		return resumption{}, err
	}
	is, err := s.writer.currentNote()
	switch original := n.lineage == is.lineage && n.file == is.file; {
	case err != nil:
		return resumption{}, err
	case is.last == 0 && n.last == 0, original && n.last <= is.last:
		return resumption{}, nil
	case is.last == 0:
		return resumption{after: n.last}, nil
	}
	return resumption{after: export.Beyond(max(n.last, is.last), s.now()), copied: true}, nil
}

// resume raises the sequence. What a copy's leases and live sessions hold was held by processes of the original: the next
// write lapses them.
func (s *Store) resume(r resumption) error {
	statements := []string{}
	if r.copied {
		statements = []string{
			"UPDATE sequence SET lineage = lower(hex(randomblob(8)))",
			"UPDATE leases SET session = 'restored', boot = ''",
			"UPDATE work_sessions SET until = since WHERE state = 'active' AND until IS NOT NULL",
		}
	}
	for _, statement := range statements {
		if _, err := s.writer.exec(statement); err != nil {
			return err
		}
	}
	if !r.copied {
		if _, err := s.writer.exec(lostSQL, r.after); err != nil {
			return err
		}
	}
	if _, err := s.writer.exec("UPDATE sequence SET last = ?", r.after); err != nil {
		return err
	}
	return s.writer.dueNote()
}
