package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

func workListVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:     "list [flags]",
		Short:   "list the items that hold scopes",
		Example: "  trueup work list",
		Args:    exactly(0, "nothing"),
	}
	o.which.flags(c)
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := o.look(c.Context())
		if err != nil {
			return err
		}
		defer s.close()
		items, err := s.ledger.Items(c.Context())
		if err != nil {
			return err
		}
		switch {
		case o.asJSON:
			return sayJSON(u, itemsJSON{1, itemDocuments(items)})
		case len(items) == 0:
			u.say("no work item holds a scope")
		default:
			u.page(itemsText(items, time.Now()))
		}
		return nil
	}
	return c
}

func workShowVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:     "show [flags] ID",
		Short:   "tell the story of an item",
		Example: "  trueup work show disk",
		Args:    exactly(1, "one ID"),
	}
	o.which.flags(c)
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := o.look(c.Context())
		if err != nil {
			return err
		}
		defer s.close()
		item, err := s.ledger.Item(c.Context(), reconcile.ItemID(args[0]))
		if errors.Is(err, reconcile.ErrNoItem) || errors.Is(err, reconcile.ErrUnreadable) {
			return o.refusal(reconcile.WorkOrder{Item: reconcile.ItemID(printable(args[0]))}, err)
		}
		if err != nil {
			return err
		}
		if o.asJSON {
			return sayJSON(u, itemDocument(item))
		}
		u.page(itemStory(item))
		return nil
	}
	return c
}

// itemLine is an item in one line.
func itemLine(i reconcile.Item, now time.Time) string {
	line := fmt.Sprintf("%s   %s   %s", i.ID, i.State, joined(i.Scopes))
	switch {
	case i.State == reconcile.InProgress && !i.Session.Until.IsZero():
		line += fmt.Sprintf("   fence %d until %s", i.Session.Fence, clock(i.Session.Until, now))
	case i.State == reconcile.InProgress:
		line += fmt.Sprintf("   fence %d until trueup resume", i.Session.Fence)
	case i.NeedsPerson():
		line += "   kept until a person decides"
	}
	return line
}

// itemsText is a table of the items that hold scopes.
func itemsText(items []reconcile.Item, now time.Time) []string {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESERVED BY\tSTATE\tHOLDER\tSCOPES\tSINCE\tUNTIL\tFENCE\tNOTE")
	for _, i := range items {
		until, fence := "–", "–"
		if i.State == reconcile.InProgress {
			fence = fmt.Sprint(i.Session.Fence)
			if until = "trueup resume"; !i.Session.Until.IsZero() {
				until = clock(i.Session.Until, now)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.ID, i.State, printable(i.Session.Holder), joined(i.Scopes), age(i.Since, now),
			until, fence, printable(oneLineOf(cmp.Or(i.Note, i.Reason))))
	}
	_ = table.Flush() // into memory
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for n, line := range lines {
		lines[n] = strings.TrimRight(line, " ")
	}
	return lines
}

// itemStory tells an item: a line for each thing that happened.
func itemStory(i reconcile.Item) []string {
	lines := []string{fmt.Sprintf("work item %s  %s  %s", i.ID, i.State, joined(i.Scopes))}
	if before := i.Events[0].Seq - 1; before > 0 {
		lines = append(lines, fmt.Sprintf("  %s before its last start, as far as they are kept: docs/ledger.md", counted(before, "event")))
	}
	for _, e := range i.Events {
		line := fmt.Sprintf("  %s  %-13s  %s", e.At.Local().Format(time.DateTime), e.Type, e.By)
		if e.Fence != 0 {
			line += fmt.Sprintf(", fence %d", e.Fence)
		}
		if e.Until != nil {
			line += " until " + e.Until.Local().Format(time.TimeOnly)
		}
		if e.Note != "" {
			line += ": " + oneLineOf(e.Note)
		}
		lines = append(lines, line)
	}
	return lines
}

// itemJSON is a work item as every verb prints it with --json.
type itemJSON struct {
	Version int                 `json:"version,omitempty"`
	Item    reconcile.ItemID    `json:"item"`
	State   reconcile.WorkState `json:"state"`
	Since   time.Time           `json:"since"`
	Reason  string              `json:"reason,omitempty"`
	Note    string              `json:"note,omitempty"`
	Scopes  []reconcile.Scope   `json:"scopes"`
	Holder  string              `json:"holder"`
	Fence   *reconcile.Fence    `json:"fence"` // of the live session
	Until   *time.Time          `json:"until"` // null while it is held without an end
	Events  []eventJSON         `json:"events"`
}

type itemsJSON struct {
	Version int        `json:"version"`
	Items   []itemJSON `json:"items"`
}

func itemDocuments(items []reconcile.Item) []itemJSON {
	documents := []itemJSON{}
	for _, i := range items {
		d := itemDocument(i)
		d.Version = 0
		documents = append(documents, d)
	}
	return documents
}

func itemDocument(i reconcile.Item) itemJSON {
	d := itemJSON{Version: 1, Item: i.ID, State: i.State, Since: i.Since, Reason: i.Reason, Note: i.Note, Scopes: i.Scopes, Holder: i.Session.Holder}
	if i.State == reconcile.InProgress {
		d.Fence, d.Until = &i.Session.Fence, instant(i.Session.Until)
	}
	for _, e := range i.Events {
		typ, data, _ := reconcile.EncodeWorkFact(e.WorkFact) // it was read from the same form
		d.Events = append(d.Events, eventJSON{e.Seq, e.At, typ, data})
	}
	return d
}
