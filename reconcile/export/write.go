package export

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// A Header is the first line of an export.
type Header struct {
	Trueup  string `json:"trueup"` // always "ledger"
	Version int    `json:"version"`
	Schema  int    `json:"schema"` // whose columns the rows have
	Fence   int64  `json:"fence"`  // the last number drawn
}

// An ending is the last line: an export without it was cut off.
type ending struct {
	End struct {
		Rows int `json:"rows"`
	} `json:"end"`
}

// A Writer writes an export. It holds one row in memory at a time.
type Writer struct {
	to   *bufio.Writer
	text bytes.Buffer
	rows int
}

// NewWriter begins an export of a ledger with rows of a schema and the last number that it drew.
func NewWriter(to io.Writer, schema int, fence int64) (*Writer, error) {
	w := &Writer{to: bufio.NewWriter(to)}
	err := line(&w.text, Header{Trueup: "ledger", Version: Version, Schema: schema, Fence: fence})
	if err == nil {
		err = w.flush()
	}
	return w, err
}

// Row writes {"TABLE":{"COLUMN":VALUE,…}}. Rows come in the order of Tables and of their keys; values are int64, string,
// []byte or nil.
func (w *Writer) Row(t Table, columns []Column, values []any) error {
	fmt.Fprintf(&w.text, `{%q:{`, t.Name)
	for i, c := range columns {
		if i > 0 {
			w.text.WriteByte(',')
		}
		fmt.Fprintf(&w.text, `%q:`, c.Name)
		if err := c.encode(&w.text, values[i]); err != nil {
			return err
		}
	}
	w.text.WriteString("}}")
	w.rows++
	return w.flush()
}

// End writes the last line.
func (w *Writer) End() error {
	var last ending
	last.End.Rows = w.rows
	if err := line(&w.text, last); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.to.Flush()
}

// flush ends the line.
func (w *Writer) flush() error {
	w.text.WriteByte('\n')
	_, err := w.text.WriteTo(w.to)
	return err
}
