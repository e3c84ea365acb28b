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
)

// leap is how far the fences of a restored database go ahead when nothing says how far they had come.
const leap = 1 << 20

// A note is the last number drawn, as it stands in a file beside the database. A backup that is put back does not put the
// note back, so the note tells that it was, and how far the numbers had come. It also says of which sequence it is, and of
// which file: a copy of the database, with or without the note, does not pass for the original.
type note struct {
	last    int64
	lineage string
	file    string
}

// mark writes the note. It is not synced: a power cut loses it by seconds, and then the database is the same and ahead
// of it.
func mark(path string, n note) error {
	f, err := os.OpenFile(path+".fence", os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o640)
	if err == nil {
		_, err = fmt.Fprintf(f, "%020d %s %-33s\n", n.last, n.lineage, n.file) // always the same length, so that nothing needs to be cut off
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("noting the last fence: %w", err)
	}
	return nil
}

// noted is what mark wrote; zero when there is nothing that can be read.
func noted(path string) (n note, err error) {
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

// mend sees to it that a database restored from a backup, copied or imported draws no fence that has been drawn before.
func (s *Store) mend(ctx context.Context) (err error) {
	if s.identity, err = identity(s.path); err != nil {
		return err
	}
	if due, err := s.behind(); err != nil || due == (resumption{}) {
		return explain(err)
	}
	err = s.writer.transact(ctx, func() error {
		due, err := s.behind() // as it is now that nobody else writes
		if err != nil || due == (resumption{}) {
			return err
		}
		return s.resume(due)
	})
	if err != nil {
		return fmt.Errorf("raising the fences of a restored database: %w", explain(err))
	}
	return nil
}

// A resumption is how the sequence of a database has to go on: after which number, and whether it is a copy's.
type resumption struct {
	after  int64
	copied bool
}

// behind is zero when the sequence can go on as it is.
func (s *Store) behind() (resumption, error) {
	n, err := noted(s.path)
	if err != nil {
		return resumption{}, err
	}
	last, lineage, err := s.sequence()
	switch original := n.lineage == lineage && n.file == s.identity; {
	case err != nil:
		return resumption{}, err
	case last == 0 && n.last == 0, original && n.last <= last:
		return resumption{}, nil
	case original, last == 0:
		return resumption{after: n.last}, nil
	}
	return resumption{after: max(n.last, last) + leap, copied: true}, nil
}

// sequence reads the last number drawn, and whose it is.
func (s *Store) sequence() (last int64, lineage string, err error) {
	stmt, err := s.writer.stmts.get("SELECT last, lineage FROM sequence")
	if err == nil {
		err = stmt.QueryRow().Scan(&last, &lineage)
	}
	return last, lineage, err
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
	if _, err := s.writer.exec("UPDATE sequence SET last = ?", r.after); err != nil {
		return err
	}
	_, lineage, err := s.sequence()
	if err != nil {
		return err
	}
	return mark(s.path, note{r.after, lineage, s.identity})
}
