package export

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
)

// Digest reads an export, which it refuses as Read does, and digests it as every store can keep it, see Column.Plain.
func Digest(from io.Reader) (sum [sha256.Size]byte, err error) {
	d := digester{sha256.New()}
	err = Read(from, d)
	d.Sum(sum[:0])
	return sum, err
}

// A digester is the sink of an export.
type digester struct{ hash.Hash }

// Begin is Sink's.
func (d digester) Begin(h Header) error {
	fmt.Fprintf(d, "%+v\n", h)
	return nil
}

// Columns is Sink's.
func (d digester) Columns(t Table) ([]Column, error) { return t.Columns(), nil }

// Put is Sink's.
func (d digester) Put(t Table, columns []Column, values []any) error {
	fmt.Fprintf(d, "%q", t.Name)
	for i, c := range columns {
		fmt.Fprintf(d, " %q", fmt.Sprint(c.Plain(values[i])))
	}
	_, err := fmt.Fprintln(d)
	return err
}
