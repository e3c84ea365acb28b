package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"trueup/reconcile"
)

// Largest is how many bytes a document may have.
const Largest = 8 << 20

// A Document is a policy that was read whole. Those who get it must not change Data, which others have too.
type Document struct {
	Data   []byte
	Digest string // the SHA-256 of Data, in hexadecimal
}

// A Reader reads sources, each once for all who can share the reading. It may be used by many goroutines.
type Reader struct {
	ctx    context.Context // a reading belongs to no asker alone, so it ends with the sweep
	client *http.Client
	copies string // the folder of what HTTP has answered before; none when empty

	mu       sync.Mutex
	readings map[string]*reading
}

// A Moment says how new a document has to be, in the numbers of the ledger. The zero value asks for no more than a
// document.
type Moment struct {
	Asked reconcile.Fence // what the target was last asked: the reading has to have begun after it
	Fence reconcile.Fence // of the tick that reads
}

// A reading is under way until done is closed.
type reading struct {
	fence reconcile.Fence // of the tick that began it
	done  chan struct{}
	doc   Document
	err   error
}

// NewReader makes the reader of one sweep. Readings that are under way end with the context. HTTP goes through transport;
// nil is the usual one.
func NewReader(ctx context.Context, transport http.RoundTripper) *Reader {
	return &Reader{ctx: ctx, client: newClient(transport), readings: map[string]*reading{}}
}

// Read gives the document of a source. The first asker has it read; the others wait for it, and get the same, also where
// it failed, unless their target was asked for since the reading began: what was wanted then may not be in it. Every error
// is a *reconcile.UnknownError.
func (r *Reader) Read(ctx context.Context, s Source, at Moment) (Document, error) {
	reading := r.reading(s, at)
	select {
	case <-reading.done:
		return reading.doc, reading.err
	case <-ctx.Done():
		return Document{}, &reconcile.UnknownError{Err: fmt.Errorf("reading policy %s: %w", s, context.Cause(ctx))}
	}
}

// reading finds or begins the reading of a source. An ask draws its number before it can be answered, a tick its fence
// before it reads: so a reading that began at a greater number than the ask's began after it.
func (r *Reader) reading(s Source, at Moment) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := s.key()
	if found := r.readings[key]; found != nil && (at.Asked < found.fence || at == Moment{}) {
		return found
	}
	begun := &reading{fence: at.Fence, done: make(chan struct{})}
	r.readings[key] = begun
	go func() {
		defer close(begun.done)
		err := reconcile.Caught(func() (err error) { // it belongs to no tick, which would catch it
			begun.doc, err = r.whole(s)
			return err
		})
		if err != nil {
			begun.err = &reconcile.UnknownError{Err: fmt.Errorf("reading policy %s: %w", s, err)}
		}
	}()
	return begun
}

func (r *Reader) whole(s Source) (Document, error) {
	if err := s.Validate(); err != nil {
		return Document{}, err
	}
	data, err := s.read(r.ctx, r)
	if err != nil {
		return Document{}, err
	}
	if err := says(data); err != nil {
		return Document{}, err
	}
	return Document{Data: data, Digest: digest(data)}, nil
}

// says tells why a text is no document that somebody wrote whole and meant.
func says(data []byte) error {
	text := bytes.TrimRight(data, " \t\r\n")
	switch {
	case len(text) == 0:
		return errors.New("it is empty")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return errors.New("it is not UTF-8 text")
	}
	docs := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := docs.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return errors.New("it holds comments only")
	case err != nil:
		return fmt.Errorf("it is not YAML, or was cut off: %w", err)
	}
	if err := docs.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	if err := rooted(&doc); err != nil {
		return err
	}
	if err := doubled(&doc); err != nil {
		return err
	}
	// In YAML the last line may end anywhere and still be read: `- ali` is a part of `- alice`.
	if last := text[len(text)-1]; data[len(data)-1] != '\n' && last != '}' && last != ']' {
		return errors.New("its last line has no end: it was cut off, or its writer has to add a line break")
	}
	return nil
}

// doubled tells of a mapping that says two things under one key: who reads it takes one of them, and nobody knows which was
// meant.
func doubled(node *yaml.Node) error {
	seen := map[string]bool{}
	for n, child := range node.Content {
		if key := node.Kind == yaml.MappingNode && n%2 == 0 && child.Kind == yaml.ScalarNode; key {
			is := child.ShortTag() + " " + child.Value
			if seen[is] {
				return fmt.Errorf("line %d has the key %q for the second time", child.Line, child.Value)
			}
			seen[is] = true
		}
		if err := doubled(child); err != nil {
			return err
		}
	}
	return nil
}

// rooted tells why a document says nothing.
func rooted(doc *yaml.Node) error {
	if len(doc.Content) == 0 {
		return errors.New("it is empty")
	}
	switch root := doc.Content[0]; {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return errors.New("it is empty: it holds null")
	case root.Kind != yaml.MappingNode && root.Kind != yaml.SequenceNode:
		return errors.New("it is neither a mapping nor a list")
	case len(root.Content) == 0:
		return errors.New("it is empty: who wants nothing says so inside, as in `members: []`")
	}
	return nil
}
