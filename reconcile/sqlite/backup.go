package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
)

// Backup copies the database as it is at one instant into a new file, synced and without free pages. It needs only the
// right to read; writers go on meanwhile.
func (s *Store) Backup(ctx context.Context, to string) error {
	err := NewFile(to, 0o600, func(f *os.File) error {
		db, err := sql.Open("sqlite", dsn(s.path, "ro", s.patience)) // a connection that may only query makes no file either
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.ExecContext(ctx, "VACUUM INTO ?", f.Name())
		return explain(err)
	})
	if err != nil {
		return fmt.Errorf("backing %s up to %s: %w", s.path, to, err)
	}
	return nil
}
