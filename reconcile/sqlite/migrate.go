package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed migrations/*.sql
var migrations embed.FS

// application marks the file as trueup's ("trup"): file(1) shows it, and another program's database is refused.
const application = 0x74727570

var errForeign = errors.New("it is another program's database")

// steps are the migrations in the order of their numbers; the schema of a database is the number of the last one done.
func steps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// migrate brings the schema up to what this program knows, each step in a transaction of its own, and refuses a newer one.
func (s *Store) migrate(ctx context.Context) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	for {
		have, err := schema(s.writer.value, len(texts))
		if err != nil || have == len(texts) {
			return err
		}
		if have == 0 {
			if err := s.begins(); err != nil {
				return err
			}
		}
		err = s.writer.transact(ctx, func() error {
			// Another process may have done the step since.
			now, err := schema(s.writer.value, len(texts))
			if err != nil || now != have {
				return err
			}
			for _, text := range []string{
				texts[have], fmt.Sprintf("PRAGMA user_version = %d", have+1), fmt.Sprintf("PRAGMA application_id = %d", application),
			} {
				if _, err := s.writer.conn.ExecContext(context.WithoutCancel(ctx), text); err != nil {
					return fmt.Errorf("bringing its schema from %d to %d: %w", have, have+1, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// begins refuses a database without tables that had some: what was reserved and paused in it is gone with them.
func (s *Store) begins() error {
	n, err := readNote(s.path)
	if err == nil && n.last > 0 {
		err = fmt.Errorf("it is empty, and numbers up to %d were drawn in it: restore a backup, or move %s away to begin anew without what was reserved and paused, see docs/ledger.md",
			n.last, filesOf(s.path))
	}
	return err
}

// emptied refuses a file that has lost everything, by its size: SQLite would remove the log of an empty database when it
// opens it, and with it what was committed last.
func (s *Store) emptied() error {
	if info, err := os.Stat(s.path); err != nil || info.Size() > 0 {
		return nil // what is not there is another matter
	}
	if err := s.begins(); err != nil {
		return err
	}
	return logLeft(s.path)
}

// known refuses a schema that this program cannot read.
func (s *Store) known(ctx context.Context) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	have, err := schema(func(query string) (n int64, err error) {
		err = s.db.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	}, len(texts))
	if err == nil && have == 0 {
		err = s.begins()
	}
	if err == nil && have < len(texts) {
		err = fmt.Errorf("its schema %d is older than this trueup, which reads %d: the next sweep brings it up to date", have, len(texts))
	}
	return err
}

// schema is the number of the last migration done.
func schema(value func(query string) (int64, error), most int) (int, error) {
	version, err := value("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	id, err := value("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := value("SELECT count(*) FROM sqlite_schema")
	switch {
	case err != nil:
		return 0, err
	case id != application && (id != 0 || version != 0 || tables != 0):
		return 0, errForeign
	case version > int64(most):
		return 0, fmt.Errorf("its schema %d is newer than this trueup, which knows %d: install the newer trueup again", version, most)
	}
	return int(version), nil
}
