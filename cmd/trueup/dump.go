package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/forgejo"
	"trueup/reconcile/plan"
)

func dumpVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "dump [flags] KIND:NAME",
		Short: "write the policy of what is so, to begin with",
		Long: `write the policy of what is so, to begin with

A plan against what it writes is empty. Take out of it what is not to be managed, and make it the target's policy.
Nothing is changed. The target's policy need not be there yet.`,
		Example: "  trueup dump forgejo:main > /etc/trueup/main.yaml",
		Args:    exactly(1, "target"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error { return dump(c.Context(), u, w, args[0], asJSON) }
	return c
}

// dumpJSON is what dump --json prints.
type dumpJSON struct {
	Version int           `json:"version"`
	Target  reconcile.Key `json:"target"`
	Policy  string        `json:"policy"` // the document, as YAML
}

func dump(ctx context.Context, u *ui, w which, name string, asJSON bool) error {
	s, err := w.look(ctx)
	if err != nil && (s == nil || !errors.Is(err, fs.ErrNotExist)) { // it needs no ledger
		return err
	}
	defer s.close()
	target, err := s.declared(name)
	if err != nil {
		return err
	}
	var document []byte
	err = target.Bounded(ctx, func(ctx context.Context) (err error) {
		document, err = s.dumped(ctx, target)
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		return sayJSON(u, dumpJSON{1, target.Key, string(document)})
	}
	_, err = u.out.Write(document)
	return err
}

// dumped is the document of what is so.
func (s *site) dumped(ctx context.Context, target reconcile.Target) ([]byte, error) {
	var t config.Target
	for _, declared := range s.Targets {
		if declared.Key() == target.Key {
			t = declared
		}
	}
	settings, can := t.Settings.(*forgejo.Settings)
	if !can {
		return nil, usageError("the kinds that can be dumped: forgejo", "a %s has no document of what is so", t.Kind)
	}
	document, err := forgejo.New(*settings, t.Policy.String()).Dump(ctx, plan.Input{Target: target, Log: func(string, string) {},
		Guard: func(context.Context) error { return reconcile.ErrLeaseLost }})
	if err != nil {
		return nil, fail(exitNeeds, "", "reading %s: %w", target.Key, err)
	}
	return document, nil
}
