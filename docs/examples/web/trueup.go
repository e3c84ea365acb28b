// Package trueup asks the host for a run, and tells when what was committed before is live. To use it copy this one file; it
// needs Go 1.24 or newer and nothing else. docs/web-adapter.md says when to call what, and why in this order.
package trueup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Host is how the host is reached: the folder that it watches, and the one in which it answers.
type Host struct{ Spool, Outbox string }

// FromEnv is the host of TRUEUP_SPOOL and TRUEUP_OUTBOX, in their absence of /spool and /outbox.
func FromEnv() Host {
	h := Host{os.Getenv("TRUEUP_SPOOL"), os.Getenv("TRUEUP_OUTBOX")}
	if h.Spool == "" {
		h.Spool = "/spool"
	}
	if h.Outbox == "" {
		h.Outbox = "/outbox"
	}
	return h
}

var (
	validName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$`)
	validTicket = regexp.MustCompile(`^[A-Z2-7]{10}:[0-9]{1,15}$`)
)

// Request asks for a run: for everything, or for the named targets alone. Call it after the commit, and keep the ticket to ask
// later whether what was committed is live. After an error nothing is lost: the host's next sweep reads the commit too.
func (h Host) Request(targets ...string) (ticket string, err error) {
	for _, name := range targets {
		if !validName.MatchString(name) {
			return "", fmt.Errorf("target %q: a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit", name)
		}
	}
	// Before the touch: a number read after it can be that of the very run it asked for, and only a later one would cover it.
	s, err := h.read()
	if err != nil {
		return "", err
	}
	if err := h.touch(targets); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:%d", s.Epoch, *s.Claims), nil
}

// touch makes the files, and follows no link out of the spool. One that is there already asks as well, whoever made it.
func (h Host) touch(targets []string) error {
	spool, err := os.OpenRoot(h.Spool)
	if err != nil {
		return fmt.Errorf("opening the spool, which is to be mounted writable: %w", err)
	}
	defer spool.Close()
	names := []string{"sentinel"}
	if len(targets) > 0 {
		names = names[:0]
	}
	for _, name := range targets {
		names = append(names, "requests/"+name)
	}
	for _, name := range names {
		f, err := spool.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("touching %s in the spool, which is to be mounted writable: %w", filepath.Join(h.Spool, name), err)
		}
		f.Close()
	}
	return nil
}

// Covered tells whether everything that was committed before the request is live: everywhere, or at least in the named targets.
func (h Host) Covered(ticket string, targets ...string) (bool, error) {
	state, err := h.State(ticket, targets...)
	return state == "live", err
}

// State is the word to show the user: asked, waiting (for the time between two runs to be over), running, failing (it is tried
// again) or live.
func (h Host) State(ticket string, targets ...string) (string, error) {
	if !validTicket.MatchString(ticket) { // any other epoch would count as an older one, which every success covers
		return "", fmt.Errorf("ticket %q: want EPOCH:N, as a request returns it", ticket)
	}
	epoch, number, _ := strings.Cut(ticket, ":")
	n, _ := strconv.ParseUint(number, 10, 64)
	s, err := h.read()
	if err != nil {
		return "", err
	}
	if s.Epoch != epoch {
		n = 0 // the host's numbers began anew: any success since covers what was asked before
	}
	owes := func(name string) bool { return s.Targets[name].Settled <= n } // one that is not shown has settled nothing
	switch {
	case *s.Settled > n, len(targets) > 0 && !slices.ContainsFunc(targets, owes):
		return "live", nil
	case s.State == "idle":
		return "asked", nil
	}
	return s.State, nil
}

// Wait returns once the ticket is covered, and the context's error when that ends first. Give it a minute: between two runs the
// host lets half a one pass.
func (h Host) Wait(ctx context.Context, ticket string, targets ...string) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		if covered, err := h.Covered(ticket, targets...); covered || err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// status is what the host shows. The file is replaced, never written to, so that it is always whole.
type status struct {
	Version int
	Epoch   string
	Claims  *uint64
	Settled *uint64
	State   string
	Targets map[string]struct{ Settled uint64 }
}

func (h Host) read() (s status, err error) {
	path := filepath.Join(h.Outbox, "status.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("reading the outbox, which is to be mounted from the host: %w", err)
	}
	err = json.Unmarshal(text, &s)
	if s.Version > 1 {
		return s, fmt.Errorf("reading %s: it is of version %d, and 1 is known here; take the adapter of the host's trueup", path, s.Version)
	}
	if err == nil && (s.Version != 1 || s.Epoch == "" || s.Claims == nil || s.Settled == nil || s.State == "") {
		err = errors.New("version, epoch, claims, settled or state is missing")
	}
	if err != nil {
		return s, fmt.Errorf("reading %s: %w", path, err)
	}
	return s, nil
}
