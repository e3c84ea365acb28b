package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
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
