package sqlite

import (
	"bytes"
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
	var given members
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

// members are those of an object of JSON, each once: of a key that is doubled nobody knows which value was meant.
type members map[string]json.RawMessage

// UnmarshalJSON refuses whatever is not such an object, null too.
func (m *members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); begin != json.Delim('{') {
		return errors.Join(err, errors.New("it is no object of JSON"))
	}
	*m = members{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name := key.(string) // the decoder takes nothing else there
		if _, doubled := (*m)[name]; doubled {
			return fmt.Errorf("it has %q twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		(*m)[name] = value
	}
	return nil
}

// strict reads an object as members does.
func strict(text []byte, into any) error {
	var once members
	if err := json.Unmarshal(text, &once); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
