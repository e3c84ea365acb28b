package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trueup/reconcile/node"
	"trueup/reconcile/trigger"
)

func nodeVerb(u *ui) *cobra.Command {
	c := &cobra.Command{
		Use:   "node VERB",
		Short: "look after the hosts that share a ledger",
		Long: `look after the hosts that share a ledger: enrol this one, list, drain or remove them

Hosts whose configurations name one database (state: postgres://…) divide the targets. Each is enrolled
once, and known by a key in the trigger's state folder. docs/nodes.md says more.`,
		Example: "  sudo trueup node enrol --label zone=eu",
		Args:    knownVerb,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(nodeEnrolVerb(u), nodeListVerb(u), nodeDrainVerb(u, "drain", "let a node finish what it holds and take nothing more", true),
		nodeDrainVerb(u, "undrain", "let a drained node take targets again", false), nodeRemoveVerb(u), nodeListenVerb(u))
	for _, verb := range c.Commands() {
		verb.Flags().SortFlags = false
	}
	return c
}

func nodeEnrolVerb(u *ui) *cobra.Command {
	var w which
	e := node.Enrolment{Version: version}
	var asJSON bool
	c := &cobra.Command{
		Use:   "enrol [flags]",
		Short: "make this host a node of its ledger",
		Long: `make this host a node of its ledger: before its first sweep, and again to change its labels

The first time it makes a key, which stays in the trigger's state folder. It makes the ledger where there
is none. It exits 1 when the name belongs to another key: to another host, or to this one before its state
folder was lost; then --replace takes the name over, and what had it is fenced off.`,
		Example: "  sudo trueup node enrol --label zone=eu --label gpu",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().StringVar(&e.Name, "node", "", "the `NODE`'s name (the host's)")
	c.Flags().StringSliceVar(&e.Labels, "label", nil, "a `LABEL` that targets can require; give it again for each; an empty one takes all away")
	c.Flags().BoolVar(&e.Replace, "replace", false, "make a new key, and take the name over from whoever has it")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("label") && len(e.Labels) == 0 {
			e.Labels = []string{}
		}
		return w.onNodes(c, opening{holder: holderName("node enrol")}, func(s *site, l node.Ledger) error {
			n, err := s.enrol(c.Context(), l, e)
			if n.Lost && err == nil {
				u.warning("the ledger in which this host was a node is gone, and a new one is made: what was paused and reserved in it is no longer, and numbers go on above its own; a backup can be restored, see docs/ledger.md")
			}
			if err != nil || asJSON {
				return orJSON(u, err, nodeDocument(n, n.Name))
			}
			u.say("enrolled   %s%s: trueup sweep ticks what it may", n.Name, withLabels(n.Labels))
			return nil
		})
	}
	return c
}

// enrol makes this host a node, under its own name when none is given.
func (s *site) enrol(ctx context.Context, l node.Ledger, e node.Enrolment) (node.Node, error) {
	folder := node.Folder(s.Trigger.State)
	if _, err := os.Stat(s.Trigger.State); err != nil {
		return node.Node{}, fail(exitConfig, "trueup install"+s.which.again()+" makes the folders", "enrolling: %w", err)
	}
	if e.Name == "" {
		e.Name, _ = folder.Name() // as it is enrolled
	}
	if e.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return node.Node{}, usageError("give --node NAME", "enrolling: the host has no name: %w", err)
		}
		e.Name = name
	}
	if err := node.Vet(e.Name, e.Labels); err != nil {
		return node.Node{}, usageError("as in --node host-a --label zone=eu", "enrolling: %w", err)
	}
	e.Anew = func() error { return trigger.Renew(s.Trigger.State) } // the folder may be a copy of another host's
	n, err := folder.Enrol(ctx, l, e)
	again := s.which.again()
	if taken, is := errors.AsType[*node.TakenError](err); is {
		return n, fail(exitNeeds, fmt.Sprintf("if it was this host, or is gone: trueup node enrol%s --node %s --replace; else choose another name with --node", again, taken.Node.Name),
			"enrolling: %w", err)
	}
	if errors.Is(err, node.ErrDamaged) {
		return n, fail(exitNeeds, "trueup node enrol"+again+" --node "+quoted(e.Name)+" --replace writes a new one", "enrolling: %w", err)
	}
	if errors.Is(err, node.ErrAlike) {
		return n, usageError("choose another name with --node", "enrolling: %w", err)
	}
	if errors.Is(err, node.ErrPresent) {
		return n, fail(exitNeeds, "trueup node remove"+again+" takes the other name away first", "enrolling as %s: %w", e.Name, err)
	}
	return n, err
}

func nodeDrainVerb(u *ui, verb, short string, drains bool) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:     verb + " [flags] NODE",
		Short:   short,
		Example: "  trueup node " + verb + " host-a",
		Args:    exactly(1, "one node"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		return w.onNodes(c, opening{holder: holderName("node " + verb), existing: true}, func(s *site, l node.Ledger) error {
			n, err := node.Drain(c.Context(), l, args[0], drains)
			if err != nil || asJSON {
				return orJSON(u, unknownNode(c, err), nodeDocument(n, s.node()))
			}
			if drains {
				u.say("drained   %s: it finishes what it holds and takes nothing more", n.Name)
			} else {
				u.say("undrained   %s: it takes targets from its next sweep on", n.Name)
			}
			return nil
		})
	}
	return c
}

func nodeRemoveVerb(u *ui) *cobra.Command {
	var w which
	var force, asJSON bool
	c := &cobra.Command{
		Use:   "remove [flags] NODE",
		Short: "forget a node that is absent or drained",
		Long: `forget a node that is absent or drained

A host that still sweeps is refused from then on, until it is enrolled again. What it held is given back when
its leases lapse.`,
		Example: "  trueup node remove host-a",
		Args:    exactly(1, "one node"),
	}
	w.flags(c)
	c.Flags().BoolVar(&force, "force", false, "also when it takes targets")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		return w.onNodes(c, opening{holder: holderName("node remove"), existing: true}, func(s *site, l node.Ledger) error {
			err := node.Remove(c.Context(), l, args[0], force)
			if errors.Is(err, node.ErrPresent) {
				return fail(exitNeeds, "trueup node drain"+w.again()+" "+quoted(args[0])+" first, or --force", "%w and takes targets", err)
			}
			if err != nil || asJSON {
				return orJSON(u, unknownNode(c, err), removedJSON{1, args[0]})
			}
			u.say("removed   %s", args[0])
			return nil
		})
	}
	return c
}

// unknownNode makes an error of usage of a name that no node has.
func unknownNode(c *cobra.Command, err error) error {
	if errors.Is(err, node.ErrNone) {
		return usageError("trueup node list lists them", "%s: %w", c.Name(), err)
	}
	if errors.Is(err, node.ErrDamaged) {
		return fail(exitNeeds, "trueup node remove takes it away; on its own host: trueup node enrol --replace", "%s: %w", c.Name(), err)
	}
	return err
}

// onNodes does something with the nodes of the ledger, where hosts share one.
func (w *which) onNodes(c *cobra.Command, o opening, do func(s *site, l node.Ledger) error) error {
	s, err := w.wire(c.Context(), o)
	if s != nil && !s.Shared() {
		err = fail(exitConfig, "hosts share one that is a database: state: postgres://…, see docs/nodes.md",
			"node %s: the ledger %s is this host's alone, and has no nodes", c.Name(), s.Database())
	}
	if s != nil {
		defer s.close()
	}
	if err != nil {
		return err
	}
	l, is := s.ledger.(node.Ledger)
	if !is {
		return fail(exitConfig, "", "node %s: the ledger %s has no nodes", c.Name(), s.Database())
	}
	return do(s, l)
}

// orJSON prints a document, unless there is an error.
func orJSON(u *ui, err error, document any) error {
	if err != nil {
		return err
	}
	return sayJSON(u, document)
}
