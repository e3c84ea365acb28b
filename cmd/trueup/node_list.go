package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/node"
)

func nodeListVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:     "list [flags]",
		Short:   "list the nodes, and the targets that none of them may tick",
		Example: "  trueup node list",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return w.onNodes(c, opening{readOnly: true}, func(s *site, l node.Ledger) error {
			f, err := s.nodes(c.Context(), l)
			switch {
			case err != nil:
				return err
			case asJSON:
				return sayJSON(u, f.document())
			case len(f.all) == 0:
				u.say("no node is enrolled: trueup node enrol%s", w.again())
			default:
				u.page(f.text(time.Now()))
			}
			return nil
		})
	}
	return c
}

// nodeFacts is what is known of the nodes that share the ledger; nil where it is one host's alone.
type nodeFacts struct {
	all    []node.Node
	own    string             // this host's; empty when it is not enrolled, or nobody can tell
	alien  bool               // this host is not enrolled
	nobody []reconcile.Target // declared, and no node that is present and takes targets may tick them
}

// nodes reads what is known of the nodes.
func (s *site) nodes(ctx context.Context, l node.Ledger) (*nodeFacts, error) {
	all, err := node.List(ctx, l)
	if err != nil {
		return nil, err
	}
	f := &nodeFacts{all: all}
	f.own, err = node.Folder(s.Trigger.State).Name()
	f.alien = errors.Is(err, node.ErrNotEnrolled) // who may not read it cannot tell
	f.alien = f.alien || err == nil && !slices.ContainsFunc(all, func(n node.Node) bool { return n.Name == f.own })
	for _, t := range s.engine.Targets {
		if !slices.ContainsFunc(all, func(n node.Node) bool { return n.Takes() && n.Meets(t.Requires) }) {
			f.nobody = append(f.nobody, t)
		}
	}
	return f, nil
}

// node is this host's name among the nodes; empty when it is not enrolled.
func (s *site) node() string {
	name, _ := node.Folder(s.Trigger.State).Name() // who begins a session meets what is wrong with it
	return name
}

func (f *nodeFacts) text(now time.Time) []string {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tSTATE\tSEEN\tVERSION\tLABELS\tNOTE")
	for _, n := range f.all {
		note := ""
		if n.Name == f.own {
			note = "this host"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, nodeState(n), seenAgo(n, now), printable(n.Version), strings.Join(n.Labels, " "), note)
	}
	_ = table.Flush() // into memory
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	if len(f.nobody) > 0 {
		lines = append(lines, "")
	}
	for _, t := range f.nobody {
		lines = append(lines, fmt.Sprintf("%s: %s", t.Key, f.unmet(t)))
	}
	return lines
}

// unmet says why nobody ticks a target.
func (f *nodeFacts) unmet(t reconcile.Target) string {
	if len(t.Requires) == 0 {
		return "no node is present that takes targets"
	}
	return "it requires " + strings.Join(t.Requires, " and ") + ", and no node is present that has that and takes targets"
}

// nodeState is a node in a word.
func nodeState(n node.Node) string {
	switch {
	case n.Damage != nil:
		return "unreadable"
	case n.Draining && n.Present:
		return "draining"
	case n.Draining:
		return "drained"
	case n.Present:
		return "present"
	case n.Seen.IsZero():
		return "enrolled"
	}
	return "absent"
}

func seenAgo(n node.Node, now time.Time) string {
	if n.Seen.IsZero() {
		return "never"
	}
	return ago(n.Seen, now)
}

func withLabels(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return " (" + strings.Join(labels, " ") + ")"
}

// nodeJSON is a node as every verb prints it with --json.
type nodeJSON struct {
	Version  int        `json:"version,omitempty"`
	Node     string     `json:"node"`
	State    string     `json:"state"` // present, absent, enrolled (and never seen), draining, drained, unreadable
	Own      bool       `json:"own"`   // it is this host
	Labels   []string   `json:"labels"`
	Trueup   string     `json:"trueup"` // its version at its last session
	Enrolled time.Time  `json:"enrolled"`
	Seen     *time.Time `json:"seen"`
}

type nodesJSON struct {
	Version int          `json:"version"`
	Nodes   []nodeJSON   `json:"nodes"`
	Nobody  []nobodyJSON `json:"nobody"` // targets that no present node may tick
}

type nobodyJSON struct {
	Target   reconcile.Key `json:"target"`
	Requires []string      `json:"requires"`
}

type removedJSON struct {
	Version int    `json:"version"`
	Node    string `json:"node"`
}

func nodeDocument(n node.Node, own string) nodeJSON {
	return nodeJSON{1, n.Name, nodeState(n), n.Name == own, append([]string{}, n.Labels...), n.Version, n.Enrolled, instant(n.Seen)}
}

func (f *nodeFacts) document() nodesJSON {
	d := nodesJSON{1, []nodeJSON{}, []nobodyJSON{}}
	for _, n := range f.all {
		one := nodeDocument(n, f.own)
		one.Version = 0
		d.Nodes = append(d.Nodes, one)
	}
	for _, t := range f.nobody {
		d.Nobody = append(d.Nobody, nobodyJSON{t.Key, append([]string{}, t.Requires...)})
	}
	return d
}
