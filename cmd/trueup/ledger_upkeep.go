package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/config"
)

// ledgerCheckJSON is what ledger check --json prints.
type ledgerCheckJSON struct {
	Version    int              `json:"version"`
	File       string           `json:"file"`
	Flaws      []reconcile.Flaw `json:"flaws"`
	Undeclared []reconcile.Key  `json:"undeclared"` // known targets that this configuration does not declare
}

func ledgerCheckVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [flags]",
		Short: "look for damage in the ledger, and for what makes no sense",
		Long: `look for damage in the ledger, and for what makes no sense: the file itself, every run and work item, who holds
what, and the records

It exits 74 when it finds any, and says of each what to do. It writes nothing.`,
		Example: "  trueup ledger check",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := w.look(c.Context())
		if err != nil {
			return err
		}
		defer s.close()
		return s.inspect(c.Context(), u, asJSON)
	}
	return c
}

func (s *site) inspect(ctx context.Context, u *ui, asJSON bool) error {
	flaws, err := s.ledger.Inspect(ctx)
	if err != nil {
		return err
	}
	known, err := s.known(ctx)
	if err != nil && len(flaws) == 0 {
		return err
	}
	d := ledgerCheckJSON{1, s.Database(), append([]reconcile.Flaw{}, flaws...), []reconcile.Key{}}
	for _, t := range s.engine.Targets {
		delete(known, t.Key)
	}
	d.Undeclared = append(d.Undeclared, slices.Sorted(maps.Keys(known))...)
	if asJSON {
		if err := sayJSON(u, d); err != nil {
			return err
		}
	} else {
		for _, f := range flaws {
			u.marked(red, "error: ", f.Where+": "+f.What)
			u.marked(cyan, "hint: ", f.Do)
		}
		for _, key := range d.Undeclared {
			u.warning("target %s is known and not declared here; unless another configuration declares it, the next sweep forgets it", key)
		}
	}
	if len(flaws) > 0 {
		return &failure{code: exitState}
	}
	if !asJSON {
		u.say("sound   %s", s.Database())
	}
	return nil
}

// ledgerPruneJSON is what ledger prune --json prints.
type ledgerPruneJSON struct {
	Version int `json:"version"`
	reconcile.Pruned
}

func ledgerPruneVerb(u *ui) *cobra.Command {
	var w which
	var keep string
	var runs, logs int
	var asJSON bool
	c := &cobra.Command{
		Use:   "prune [flags]",
		Short: "cut what the ledger need not keep, and give the space back",
		Long: `cut what the ledger need not keep, and give the space back

Sweeps do it once a day, as the configuration's ledger.keep, runs and logs say; this does it now, and the
flags take their place once. What is open, waits for a person or may have to be recovered is never cut.`,
		Example: "  trueup ledger prune --keep 720h --logs 64",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().StringVar(&keep, "keep", "", "how long `D` runs and finished work items are kept, such as 720h")
	c.Flags().IntVar(&runs, "runs", 0, "how many (`N`) of a target's last runs are kept, however old")
	c.Flags().IntVar(&logs, "logs", 0, "how many `MIB` of logs are kept")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		conf, err := w.load(c.Context())
		if err != nil {
			return err
		}
		if err := overKept(c, &conf.Ledger, keep, runs, logs); err != nil {
			return err
		}
		return pruneLedger(c.Context(), u, conf, asJSON)
	}
	return c
}

// overKept puts the flags that are given over the configuration.
func overKept(c *cobra.Command, l *config.Ledger, keep string, runs, logs int) error {
	if c.Flags().Changed("keep") {
		length, err := config.ParseDuration(keep)
		if wrong, is := errors.AsType[*config.DurationError](err); is {
			return usageError(wrong.Hint, "prune: --keep: %w", err)
		}
		l.Keep = length
	}
	if c.Flags().Changed("runs") {
		l.Runs = runs
	}
	if c.Flags().Changed("logs") {
		l.Logs = logs
	}
	if l.Keep < time.Hour || l.Runs < 0 || l.Logs < 1 || l.Logs > config.MostLogs {
		return usageError("", "prune: want --keep of at least 1h, --runs of at least 0, --logs from 1 to %d", config.MostLogs)
	}
	return nil
}

func pruneLedger(ctx context.Context, u *ui, conf *config.Config, asJSON bool) error {
	ledger, err := openStore(ctx, conf, opening{holder: holderName("ledger prune"), existing: true})
	if err != nil {
		return err
	}
	defer ledger.Close()
	pruned, err := ledger.Prune(ctx, retention(conf))
	if err != nil {
		return err
	}
	if asJSON {
		return sayJSON(u, ledgerPruneJSON{1, pruned})
	}
	u.say("%s", prunedLine(pruned))
	return nil
}

// logQuota is how many bytes of logs are kept.
func logQuota(c *config.Config) int64 { return int64(c.Ledger.Logs) << 20 }

func retention(c *config.Config) reconcile.Retention {
	return reconcile.Retention{Keep: c.Ledger.Keep, Runs: c.Ledger.Runs}
}

// prunedLine is what was cut, for people.
func prunedLine(p reconcile.Pruned) string {
	parts := []string{counted(p.Runs, "run")}
	if p.Items > 0 {
		parts = append(parts, counted(p.Items, "work item"))
	}
	if p.Logs > 0 {
		parts = append(parts, counted(p.Logs, "log")+" over the quota")
	}
	return fmt.Sprintf("cut   %s; %s given back", strings.Join(parts, ", "), sized(p.Bytes))
}
