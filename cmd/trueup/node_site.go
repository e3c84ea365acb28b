package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/node"
)

// owedRequest is the name in the spool's requests/ that asks for nothing but what is owed already. No target has it.
const owedRequest = "owed"

// join begins a session of this host's node, where hosts share the ledger: only nodes tick targets.
func (s *site) join(ctx context.Context, doing string) error {
	if !s.Shared() {
		return nil
	}
	l, is := s.ledger.(node.Ledger)
	if !is {
		return fail(exitConfig, "", "%s: the ledger %s has no nodes", doing, s.Database())
	}
	session, err := node.Folder(s.Trigger.State).Begin(ctx, l, version, s.Trigger.Sweep)
	if err != nil {
		return s.shutOut(doing, err)
	}
	s.session, s.engine.Host = session, session
	s.engine.Owner = node.Owner(session.Node.Name, s.Trigger.State)
	return nil
}

// shutOut tells what to do where this host's node is none of the ledger, also where a sweep finds that out in its midst.
func (s *site) shutOut(doing string, err error) error {
	again := s.which.again()
	switch {
	case errors.Is(err, node.ErrNotEnrolled):
		return fail(exitConfig, "trueup node enrol"+again, "%s with the ledger %s, which hosts share: %w", doing, s.Database(), err)
	case errors.Is(err, node.ErrElsewhere):
		return fail(exitConfig, "on a host that has a copy of another's state folder: trueup node enrol"+again+" --replace --node NAME; see docs/nodes.md",
			"%s with the ledger %s: %w", doing, s.Database(), err)
	case errors.Is(err, node.ErrDamaged):
		return fail(exitConfig, "trueup node enrol"+again+" --replace writes a new one", "%s with the ledger %s: %w", doing, s.Database(), err)
	case errors.Is(err, reconcile.ErrCopied):
		return fail(exitConfig, "trueup node enrol"+again+" --replace gives this host a key and an epoch of its own; see docs/nodes.md",
			"%s with the ledger %s: %w", doing, s.Database(), err)
	}
	return err
}

// nodesOf reads what is known of the nodes; nil where the ledger is this host's alone.
func (s *site) nodesOf(ctx context.Context) (*nodeFacts, error) {
	l, is := s.ledger.(node.Ledger)
	if !s.Shared() || !is {
		return nil, nil
	}
	return s.nodes(ctx, l)
}

// needs tells of targets that nobody ticks.
func (f *nodeFacts) needs(flags string) (found []finding) {
	if f == nil {
		return nil
	}
	for _, n := range f.all {
		if n.Damage != nil {
			found = append(found, finding{"unreadable: " + n.Damage.Error(), "trueup node remove" + flags + " " + quoted(n.Name) + ", and enrol it again"})
		}
	}
	if len(f.nobody) == 0 {
		return found
	}
	keys := make([]reconcile.Key, len(f.nobody))
	for i, t := range f.nobody {
		keys[i] = t.Key
	}
	return append(found, finding{fmt.Sprintf("nobody: %s can be ticked by no node that is present", someKeys(keys)), "trueup node list" + flags})
}

// notes are what is worth knowing of the nodes.
func (f *nodeFacts) notes(flags string, now time.Time) (lines []string) {
	if f == nil {
		return nil
	}
	for _, n := range f.all {
		switch {
		case n.Draining && n.Name == f.own:
			lines = append(lines, fmt.Sprintf("this host, node %s, drains and takes nothing: trueup node undrain%s %s", n.Name, flags, n.Name))
		case nodeState(n) == "absent":
			lines = append(lines, fmt.Sprintf("node %s is absent, last seen %s: trueup node list%s", n.Name, seenAgo(n, now), flags))
		}
	}
	if f.alien {
		lines = append(lines, "this host is not enrolled, and ticks nothing: trueup node enrol"+flags)
	}
	return lines
}

// checkNodes judges the nodes that share the ledger.
func (f *siteFacts) checkNodes(c *checks) {
	switch {
	case f.nodes == nil:
		return
	case f.nodes.alien:
		c.add(isWrong, "ledger.node", "trueup node enrol"+f.flags, "this host is not enrolled, and ticks nothing")
	case f.nodes.own != "":
		c.ok("ledger.node", "this host is node %s", f.nodes.own)
	}
	c.findings("ledger.nodes", f.nodes.needs(f.flags), "each target can be ticked by a node that is present")
}

// remindOfEnrolment tells who has installed the service on a host that is not enrolled what is still to be done.
func (w *which) remindOfEnrolment(ctx context.Context, u *ui) {
	c, err := w.load(ctx)
	if err != nil || !c.Shared() {
		return
	}
	if _, err := node.Folder(c.Trigger.State).Name(); errors.Is(err, node.ErrNotEnrolled) {
		u.note("before it ticks anything: trueup node enrol%s", w.again())
	}
}

// noteOf says of a target that nobody ticks it; empty when somebody does.
func (f *nodeFacts) noteOf(key reconcile.Key) string {
	if f == nil {
		return ""
	}
	for _, t := range f.nobody {
		if t.Key == key {
			return f.unmet(t)
		}
	}
	return ""
}

// withoutHints are the names that ask for targets.
func withoutHints(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == owedRequest })
}
