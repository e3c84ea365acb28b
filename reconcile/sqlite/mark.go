package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// leap is how far the fences of a restored database go ahead when nothing says how far they had come.
const leap = 1 << 20

// mark notes the last number drawn beside the database. A backup that is put back does not put the note back, so the note
// tells. It is not synced: a power cut loses it by seconds, and then the database is the same and ahead of it.
func mark(path string, last int64) error {
	f, err := os.OpenFile(path+".fence", os.O_WRONLY|os.O_CREATE, 0o640)
	if err == nil {
		_, err = fmt.Fprintf(f, "%020d\n", last) // always the same length, so that nothing needs to be cut off
		err = errors.Join(err, share(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("noting the last fence: %w", err)
	}
	return nil
}

// mend sees to it that a database restored from a backup draws no fence that has been drawn before.
func (s *Store) mend(ctx context.Context) error {
	to, err := s.behind()
	if err != nil || to == 0 {
		return explain(err)
	}
	err = s.writer.transact(ctx, func() error {
		to, err := s.behind() // as it is now that nobody else writes
		if err != nil || to == 0 {
			return err
		}
		if _, err := s.writer.exec("UPDATE sequence SET last = ?", to); err != nil {
			return err
		}
		return mark(s.path, to)
	})
	if err != nil {
		return fmt.Errorf("raising the fences of a restored database: %w", explain(err))
	}
	return nil
}

// behind is the number that the sequence has to go on after; zero when it is the one it has.
func (s *Store) behind() (to int64, err error) {
	noted, err := noted(s.path)
	if err != nil {
		return 0, err
	}
	last, err := s.writer.value("SELECT last FROM sequence")
	switch {
	case err != nil:
		return 0, err
	case noted > last:
		return noted, nil
	case noted == 0 && last > 0:
		return last + leap, nil
	}
	return 0, nil
}

// noted is the number that mark wrote; zero when there is none that can be read.
func noted(path string) (int64, error) {
	text, err := os.ReadFile(path + ".fence")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the last fence: %w", err)
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // damage counts as none
	return n, nil
}
