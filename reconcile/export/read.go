package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// longest is how long a line of an export may be.
const longest = 256 << 20

// A Sink is a store that takes an export in.
type Sink interface {
	// Begin makes the tables of the schema that the header names, or refuses it.
	Begin(h Header) error
	// Columns are those of a table in that schema, in the order in which Put wants their values.
	Columns(t Table) ([]Column, error)
	// Put takes a row.
	Put(t Table, columns []Column, values []any) error
}

// Read gives an export to a sink, whole or with an error: a line that is damaged, a run or a work item that does not fold, or
// an export that was cut off. The error says in which line.
func Read(from io.Reader, into Sink) error {
	r := &reader{lines: bufio.NewReaderSize(from, 1<<20), sink: into, tables: map[string]*intake{}}
	err := r.all()
	if m, is := errors.AsType[*misfit](err); is {
		r.n -= 1 + m.after // it is told when its story ends, with the row after it
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", r.n, err)
	}
	return nil
}

// An intake is a table that is being filled.
type intake struct {
	Table
	columns []Column
}

type reader struct {
	lines  *bufio.Reader
	sink   Sink
	n      int // of the line that was read last
	rows   int
	tables map[string]*intake
	story  Story
}

func (r *reader) all() error {
	var h Header
	var first json.RawMessage
	if err := r.next(&first); err != nil {
		return err
	}
	if err := strict(first, &h); err != nil {
		return err
	}
	switch {
	case h.Trueup != "ledger" || h.Version < 1 || h.Schema < 1:
		return errors.New("it is no export of a ledger")
	case h.Version > Version:
		return fmt.Errorf("its version %d is newer than this trueup, which knows %d: install the newer trueup", h.Version, Version)
	}
	if err := Drawable(h.Fence); err != nil {
		return err
	}
	if err := r.sink.Begin(h); err != nil {
		return err
	}
	return r.body()
}

// Drawable refuses a last number that cannot have been drawn, or after which none could be.
func Drawable(last int64) error {
	if most := int64(1 << 62); last < 0 || last > most {
		return fmt.Errorf("%d is no number that was drawn, which lie between 0 and %d", last, most)
	}
	return nil
}

// body reads rows until the export says that it ends.
func (r *reader) body() error {
	for {
		var row members
		if err := r.next(&row); err != nil {
			return err
		}
		if len(row) != 1 {
			return fmt.Errorf("it has %d rows, and not one", len(row))
		}
		if end, is := row["end"]; is {
			return r.end(end)
		}
		for name, values := range row {
			if err := r.row(name, values); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
		r.rows++
	}
}

// row gives a row to the sink, and follows the story that events tell.
func (r *reader) row(name string, text json.RawMessage) error {
	t, err := r.intake(name)
	if err != nil {
		return err
	}
	var given members
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	values := make([]any, len(t.columns))
	for n, c := range t.columns {
		one, is := given[c.Name]
		if !is {
			return fmt.Errorf("it lacks the column %s", c.Name)
		}
		delete(given, c.Name)
		if values[n], err = c.decode(one); err != nil {
			return err
		}
	}
	for unknown := range given {
		return fmt.Errorf("it has an unknown column %q", unknown)
	}
	if err := r.story.Row(t.Name, values); err != nil {
		return err
	}
	return r.sink.Put(t.Table, t.columns, values)
}

func (r *reader) intake(name string) (*intake, error) {
	if t := r.tables[name]; t != nil {
		return t, nil
	}
	known, is := tableOf(name)
	if !is {
		return nil, errors.New("there is no such table")
	}
	columns, err := r.sink.Columns(known)
	if err != nil {
		return nil, err
	}
	r.tables[name] = &intake{known, columns}
	return r.tables[name], nil
}

func (r *reader) end(text json.RawMessage) error {
	var last ending
	if err := strict(text, &last.End); err != nil {
		return err
	}
	if last.End.Rows != r.rows {
		return fmt.Errorf("%d rows were to come, and %d did", last.End.Rows, r.rows)
	}
	if err := r.story.End(); err != nil {
		return err
	}
	if more, err := r.lines.Peek(1); err != io.EOF {
		return errors.Join(fmt.Errorf("more follows, from %q on", more), err)
	}
	return nil
}

// next reads a line.
func (r *reader) next(into any) error {
	r.n++
	var text []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return json.Unmarshal(bytes.TrimSuffix(text, []byte("\n")), into)
		case err == io.EOF:
			return fmt.Errorf("it is cut off: %w", io.ErrUnexpectedEOF)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(text) > longest:
			return fmt.Errorf("it is longer than %d MiB", longest>>20)
		}
	}
}
