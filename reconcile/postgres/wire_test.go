package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A wire is the connections of a store to its server. It counts round trips, and breaks where it is told to.
type wire struct {
	mu     sync.Mutex
	trips  int
	asking bool                              // something was sent that has not been answered
	breaks func(sent []byte) (breach breach) // asked of what is to be sent; nil: nothing breaks
	dark   bool                              // nothing comes through any more, and nothing says so
	stops  chan bool                         // the process is stopped until it is closed: nothing is read
}

// A breach is where a connection ends.
type breach int

const (
	whole  breach = iota
	before        // what is to be sent does not arrive
	after         // it arrives, and the answer does not
)

type cable struct {
	net.Conn
	w *wire
}

// over opens a store whose connections are the wire's.
func (w *wire) over(t *testing.T, url string, o Options) *Store {
	t.Helper()
	config, place, err := configure(url)
	if err != nil {
		t.Fatal(err)
	}
	w.hook(config)
	s, err := open(t.Context(), config, place, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (w *wire) hook(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		dark := w.dark
		w.mu.Unlock()
		if dark {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &cable{Conn: conn, w: w}, nil
	}
}

func (w *wire) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (c *cable) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	breach := whole
	if c.w.breaks != nil {
		breach = c.w.breaks(b)
	}
	c.w.asking = true
	dark := c.w.dark
	c.w.mu.Unlock()
	switch {
	case dark && breach == whole:
		return len(b), nil
	case breach == before:
		c.Conn.Close()
		return 0, fmt.Errorf("cut before: %w", net.ErrClosed)
	case breach == after:
		n, err := c.Conn.Write(b)
		_, _ = c.Conn.Read(make([]byte, 1)) // it has been done by then
		c.Conn.Close()
		return n, err
	}
	return c.Conn.Write(b)
}

func (c *cable) Read(b []byte) (int, error) {
	for {
		c.w.mu.Lock()
		stops := c.w.stops
		c.w.mu.Unlock()
		if stops != nil {
			<-stops
		}
		n, err := c.Conn.Read(b)
		c.w.mu.Lock()
		dark := c.w.dark
		if c.w.asking && n > 0 {
			c.w.trips++
		}
		c.w.asking = false
		c.w.mu.Unlock()
		if !dark || err != nil {
			return n, err
		}
	}
}

// isCommit tells whether something that is sent ends a transaction, as the text of a statement of its own.
func isCommit(sent []byte) bool { return bytes.Contains(sent, []byte("COMMIT\x00")) }

// once breaks the wire at the next commit, and no other.
func once(how breach) func([]byte) breach {
	var done sync.Once
	return func(sent []byte) (is breach) {
		if isCommit(sent) {
			done.Do(func() { is = how })
		}
		return is
	}
}
