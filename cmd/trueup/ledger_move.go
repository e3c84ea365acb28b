package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/export"
	"trueup/reconcile/postgres"
)

func ledgerMoveVerb(u *ui) *cobra.Command {
	var w which
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "move [flags] --to STATE",
		Short: "move the ledger to another place: a file of this host, or a database that hosts share",
		Long: `move the ledger to another place: a file of this host, or a database that hosts share

STATE is written as state: in the configuration. There must be no ledger there yet. The new one is compared
with the old one, value by value, before the old one is closed: what is no text, in what commands printed
long ago, has � in its place in a database. A closed one stays where it is, can be read, and refuses
whoever still writes to it. It refuses while somebody holds a lease or works on something, and
waits for nobody. Then name the new one in state: on every host; docs/ledger.md has the steps.`,
		Example: "  trueup ledger move --to 'postgres://trueup@db.example.org/trueup?sslmode=verify-full'",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().StringVar(&to, "to", "", "where to: sqlite:///path/ledger.db or postgres://user@host/database")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := refuseWithinRun(c); err != nil {
			return err
		}
		from, err := w.load(c.Context())
		if err != nil {
			return err
		}
		place, err := destination(from, to)
		if err != nil {
			return err
		}
		if err := moveLedger(c.Context(), from, place); err != nil {
			return err
		}
		return moved(u, "moved", place, asJSON)
	}
	return c
}

// destination is where a ledger is to move, with all else as it is configured.
func destination(from *config.Config, to string) (*config.Config, error) {
	if to == "" {
		return nil, usageError("trueup ledger move --to postgres://user@host/database", "move: --to is missing")
	}
	place, err := config.StateOf(to)
	if faults, is := errors.AsType[config.Faults](err); is {
		return nil, usageError(faults[0].Hint, "move: --to: %s", faults[0].Message)
	}
	if err != nil {
		return nil, err
	}
	if place.Ledger = from.Ledger; !from.Shared() || !place.Shared() {
		place.Ledger.Password = config.Secret{} // which is that of the place from which it moves
	}
	if ledgerName(place) == ledgerName(from) {
		return nil, usageError("", "move: the ledger is there already: %s", place.Database())
	}
	return place, nil
}

func moveLedger(ctx context.Context, from, to *config.Config) error {
	old, err := openStore(ctx, from, opening{holder: holderName("ledger move"), leaving: true})
	if errors.Is(err, fs.ErrNotExist) {
		return fail(exitConfig, "name the new place in state:, and the first sweep makes a ledger there", "moving the ledger: %w", err)
	}
	if err != nil {
		return err
	}
	defer old.Close()
	if same, err := isAt(ctx, old, to); same || err != nil {
		return cmp.Or(err, usageError("", "move: the ledger is there already: %s", to.Database()))
	}
	flaws, err := old.Inspect(ctx)
	if err != nil {
		return err
	}
	if len(flaws) > 0 {
		return fail(exitState, "trueup ledger check", "moving the ledger: it is not sound: %s: %s", flaws[0].Where, flaws[0].What)
	}
	err = old.Leave(ctx, to.State, func(ctx context.Context) error { return carry(ctx, old, to) })
	if held, is := errors.AsType[*reconcile.ReservedError](err); is {
		return fail(exitTimeout, "wait for its end, or end it; stop the service's timer and path for as long as it takes", "moving the ledger: %w", held)
	}
	return err
}

// isAt tells whether the ledger is at that place already, under another address.
func isAt(ctx context.Context, old store, place *config.Config) (bool, error) {
	ours, is := old.(*postgres.Store)
	if !is || !place.Shared() {
		return false, nil
	}
	there, err := openStore(ctx, place, opening{readOnly: true})
	if err != nil {
		return false, nil // nothing is there, or who is to write there meets what is
	}
	defer there.Close()
	return ours.Same(ctx, there.(*postgres.Store))
}

// carry makes the new ledger of the old one, reads it back, and compares.
func carry(ctx context.Context, old store, to *config.Config) error {
	out, in := io.Pipe()
	go func() { in.CloseWithError(old.Export(ctx, in)) }()
	err := importStore(ctx, to, out)
	out.CloseWithError(err) // so that the export ends
	if errors.Is(err, fs.ErrExist) {
		return fail(exitState, makeRoom(to)+"; a move that was killed leaves its copy there, which nobody has used", "moving the ledger: %w", err)
	}
	if err != nil {
		return err
	}
	s, err := openStore(ctx, to, opening{readOnly: true})
	if err != nil {
		return fmt.Errorf("reading back what has moved: %w", err)
	}
	defer s.Close()
	sent, err := digestOf(ctx, old)
	if err != nil {
		return err
	}
	arrived, err := digestOf(ctx, s)
	if err == nil && arrived != sent {
		err = fail(exitState, makeRoom(to), "moving the ledger: what arrived in %s is not what was sent; the ledger stays where it was", to.Database())
	}
	return err
}

// digestOf digests what every store keeps of a ledger.
func digestOf(ctx context.Context, s store) (sum [sha256.Size]byte, err error) {
	out, in := io.Pipe()
	go func() { in.CloseWithError(s.Export(ctx, in)) }()
	sum, err = export.Digest(out)
	out.CloseWithError(err) // so that the export ends
	return sum, err
}

// movedJSON is what ledger move --json prints, and ledger import --json of a database.
type movedJSON struct {
	Version int    `json:"version"`
	State   string `json:"state"` // as the configuration has it
}

func moved(u *ui, verb string, to *config.Config, asJSON bool) error {
	if asJSON {
		return sayJSON(u, movedJSON{1, to.State})
	}
	u.say("%s   %s", verb, to.Database())
	if verb == "moved" {
		u.marked(cyan, "next: ", "state: "+to.State+" in the configuration of every host")
	}
	return nil
}
