package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An intake is a table that is being filled.
type intake struct {
	table
	columns []column
	insert  *sql.Stmt
}

// row puts a row into its table, and follows the story that events tell.
func (i *importer) row(ctx context.Context, name string, text json.RawMessage) error {
	t, err := i.intake(ctx, name)
	if err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	values := make([]any, len(t.columns))
	for n, c := range t.columns {
		one, is := given[c.name]
		if !is {
			return fmt.Errorf("it lacks the column %s", c.name)
		}
		delete(given, c.name)
		if values[n], err = c.decode(one); err != nil {
			return err
		}
	}
	for unknown := range given {
		return fmt.Errorf("it has an unknown column %q", unknown)
	}
	if err := i.story.row(t.name, values); err != nil {
		return err
	}
	_, err = t.insert.ExecContext(ctx, values...)
	return err
}

func (i *importer) intake(ctx context.Context, name string) (*intake, error) {
	if t := i.into[name]; t != nil {
		return t, nil
	}
	known, is := tableOf(name)
	if !is {
		return nil, errors.New("there is no such table")
	}
	columns, err := known.columns(ctx, i.db)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(columns))
	for n, c := range columns {
		names[n] = c.name
	}
	insert, err := i.db.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", name, strings.Join(names, ", "),
		strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")))
	i.into[name] = &intake{known, columns, insert}
	return i.into[name], err
}
