package trigger

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Check proves that a gate with these folders can do its work, and leaves the outbox ready for the first
// ticket: a web app that reads before the first run must find a number. It does not claim anything.
func (g *Gate) Check(ctx context.Context) error {
	state, err := g.ready(ctx)
	if err != nil {
		return err
	}
	defer state.close()
	if err := g.checkSpool(state); err != nil {
		return fmt.Errorf("emptying the spool: %w", err)
	}
	return nil
}

// ready is Check without the spool, which is the web app's, and which the gate sets right. It returns the state folder.
func (g *Gate) ready(ctx context.Context) (state dir, err error) {
	if err := errors.Join(g.Folders.Validate(), g.Policy.Validate()); err != nil {
		return dir{}, err
	}
	fired, stop, err := g.Clock.Until(g.Clock.Now()) // a system call filter may forbid timers
	if err != nil {
		return dir{}, err
	}
	<-fired
	stop()
	if state, err = openState(g.Folders.State); err != nil {
		return dir{}, fmt.Errorf("opening the state folder: %w", err)
	}
	found := readState(state)
	if err := initNumbering(state, &found); err != nil {
		state.close()
		return dir{}, fmt.Errorf("writing the state folder: %w", err)
	}
	if g.Folders.Outbox == "" {
		return state, nil
	}
	if err := g.checkOutbox(ctx, found); err != nil {
		state.close()
		return dir{}, fmt.Errorf("writing the outbox: %w", err)
	}
	return state, nil
}

// initNumbering gives a new state folder its epoch, and proves of any that it can be written.
func initNumbering(d dir, s *State) error {
	if s.Settled.Epoch != "" || s.Claim != nil {
		err := writeDurable(d, "check", 0o600, struct{}{})
		return errors.Join(err, removeDurable(d, "check"))
	}
	s.Settled.Epoch = newEpoch()
	return writeDurable(d, settledFile, 0o600, s.Settled)
}

// checkOutbox publishes the numbers where the outbox does not show them yet; a run that is on has done so.
func (g *Gate) checkOutbox(ctx context.Context, s State) error {
	epoch, n := g.numbering(s)
	if !g.shows(epoch, n) && g.mayShow(s, epoch, n) {
		return g.publish(ctx, g.status(s, epoch, n, Idle))
	}
	d, err := openDir(g.Folders.Outbox)
	if err != nil {
		return err
	}
	defer d.close()
	err = writeDurable(d, "check", 0o600, struct{}{})
	return errors.Join(err, removeDurable(d, "check"))
}

// checkSpool makes and removes an entry of the spool and of requests/, which it puts right when it is missing, and
// notes which folder it is.
func (g *Gate) checkSpool(state dir) error {
	s := openSpool(g.Folders.Spool)
	if s.opened != nil {
		return s.opened
	}
	defer s.close()
	var t taken
	budget := removeBudget
	requests, err := s.sub(requestsName)
	if missing(err) {
		s.mendRequests(&t, err, &budget)
		requests, err = s.sub(requestsName)
	}
	if err := errors.Join(append(t.stuck, err)...); err != nil {
		return err
	}
	defer requests.close()
	if _, err := state.stat(troubleFile); missing(err) {
		if err := writeDurable(state, troubleFile, 0o600, Trouble{Spool: s.identity()}); err != nil {
			return err
		}
	}
	const probe = ".check"
	for _, d := range []dir{s.dir, requests} {
		if err := d.remove(probe, &budget); err != nil {
			return err
		}
		if err := unix.Mkdirat(d.fd(), probe, 0o700); err != nil {
			return d.err("creating", probe, err)
		}
		if err := d.remove(probe, &budget); err != nil {
			return err
		}
	}
	return nil
}
