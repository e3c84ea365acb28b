package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"trueup/reconcile"
)

// A Session is a process of a node that may tick targets. It is a reconcile.Host.
type Session struct {
	Node Node // as it was when the session began

	ledger Ledger
	every  time.Duration
	live   *os.File

	mu     sync.Mutex
	seen   time.Time // when it was last said that it is present
	drains bool      // when it was last looked at
}

// Begin begins a session as the node that the host is enrolled as, or joins the one that another of its processes is in.
// Every is how often the host sweeps. ErrNotEnrolled and ErrElsewhere say that the host may tick nothing.
func (f Folder) Begin(ctx context.Context, l Ledger, version string, every time.Duration) (*Session, error) {
	done, err := f.order(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	i, err := f.read()
	if err != nil {
		return nil, err
	}
	live, err := f.open(liveFile)
	if err != nil {
		return nil, err
	}
	s := &Session{ledger: l, every: every, live: live}
	alone := lock(live, syscall.LOCK_EX) == nil
	for {
		s.Node, err = f.begin(ctx, l, &i, version, every, alone)
		if !errors.Is(err, reconcile.ErrConflict) {
			break
		}
	}
	if err == nil && alone {
		err = f.supersede(ctx, l)
	}
	if err == nil {
		err = lock(live, syscall.LOCK_SH) // in its turn: nobody else looks meanwhile
	}
	if err != nil {
		live.Close()
		return nil, err
	}
	s.seen = time.Now()
	return s, nil
}

// supersede gives back what dead processes of this folder held. What may be a copy's, or was another's before, is left to
// lapse: somebody may be about to write under it.
func (f Folder) supersede(ctx context.Context, l Ledger) error {
	incarnation, err := f.Incarnation()
	if err == nil {
		_, err = l.Supersede(ctx, incarnation)
	}
	if err != nil {
		err = fmt.Errorf("giving back what this host held: %w", err)
	}
	return err
}

// begin writes a session into the record, a new one when no other process of the node lives.
func (f Folder) begin(ctx context.Context, l Ledger, i *identity, version string, every time.Duration, alone bool) (Node, error) {
	n, err := find(ctx, l, i.Name)
	if errors.Is(err, ErrNone) {
		return n, fmt.Errorf("node %s is not in the ledger: %w", i.Name, ErrNotEnrolled)
	}
	if err == nil {
		err = i.recognise(n)
	}
	if err == nil && n.Session.N < i.Session.N {
		err = leap(ctx, l)
	}
	if err != nil {
		return n, err
	}
	if alone {
		if i.Next.N <= max(n.Session.N, i.Session.N) { // else one that a kill, or a lost answer, has left open
			i.Next = after(n.Session, i.Session)
		}
		if err := f.write(*i); err != nil {
			return n, err
		}
		n.Session = i.Next
	}
	sighted, err := sight(ctx, l, n.Name, every)
	if err != nil {
		return n, fmt.Errorf("saying that node %s is present: %w", n.Name, err)
	}
	n.Version, n.Seen = version, time.Now().UTC().Truncate(time.Second)
	n.sign(i.key())
	if err := l.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{n.write(), sighted}}); err != nil {
		return n, fmt.Errorf("beginning a session of node %s: %w", n.Name, err)
	}
	if i.Session != n.Session {
		i.Session = n.Session
		return n, f.write(*i)
	}
	return n, nil
}

// leap is for a ledger that knows less than this host does: it came back from a backup, of which the database itself may know
// nothing.
func leap(ctx context.Context, l Ledger) error {
	if err := l.Leap(ctx); err != nil {
		return fmt.Errorf("raising the numbers of a ledger that is older than this host knows it: %w", err)
	}
	return nil
}

// recognise refuses a record that somebody else has written as this node. One that is behind the folder is that of a ledger
// that came back from a backup.
func (i identity) recognise(n Node) error {
	switch {
	case !i.owns(n):
		return fmt.Errorf("node %s has another key in the ledger: %w", i.Name, ErrElsewhere)
	case n.Session == i.Session, n.Session == i.Next, n.Session.N < i.Session.N:
		return nil
	}
	return fmt.Errorf("session %d of node %s was begun elsewhere at %s: %w", n.Session.N, i.Name, n.Seen.Format(time.RFC3339), ErrElsewhere)
}

// Takes tells whether the node may take targets now, and says again that it is present where a sweep goes on for long. It
// fails once the node is removed, replaced or in a session of another host.
func (s *Session) Takes(ctx context.Context) (bool, error) {
	n, err := find(ctx, s.ledger, s.Node.Name)
	switch {
	case errors.Is(err, ErrNone):
		return false, fmt.Errorf("node %s was removed: %w", s.Node.Name, ErrNotEnrolled)
	case err != nil:
		return false, err
	case n.Session != s.Node.Session || !n.signed():
		return false, fmt.Errorf("node %s is in another session: %w", s.Node.Name, ErrElsewhere)
	}
	return !n.Draining, s.sight(ctx, n.Draining)
}

// Drains tells whether the node was found to take nothing when that was last looked at.
func (s *Session) Drains() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drains
}

// sight says that the node is present once an interval.
func (s *Session) sight(ctx context.Context, drains bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drains = drains
	if time.Since(s.seen) < s.every {
		return nil
	}
	w, err := sight(ctx, s.ledger, s.Node.Name, s.every)
	if err == nil {
		err = s.ledger.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{w}})
	}
	if err != nil && !errors.Is(err, reconcile.ErrConflict) { // another process of the node was quicker
		return fmt.Errorf("saying that node %s is present: %w", s.Node.Name, err)
	}
	s.seen = time.Now()
	return nil
}

// Meets tells whether the node has every label that a target requires.
func (s *Session) Meets(requires []string) bool { return s.Node.Meets(requires) }

// Close ends the process's part in the session.
func (s *Session) Close() error { return s.live.Close() }
