package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

func statusVerb(u *ui) *cobra.Command {
	var w where
	var conf string
	var asJSON, watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "say whether all is well, and what to do if not",
		Long: `say whether all is well; what needs a person comes first, with the command that deals with it

It exits 1 when a person is needed. --watch keeps it on the screen: redrawn on each change, with the
gate's countdown and how far a run has come; q ends it, and then it exits 0. --json prints what the outbox shows together with the operator's
part, as one object for one unit, and as {"version": 1, "units": [...]} for several.`,
		Example: "  trueup status --unit web-reconciler.service\n  trueup status --watch",
		Args:    exactly(0, "nothing"),
	}
	w.unitFlags(c)
	w.spoolFlag(c)
	w.stateFlag(c)
	w.outboxFlag(c)
	c.Flags().StringVarP(&conf, "config", "c", "", "the targets of a configuration `FILE`, and its trigger (with --name: /etc/trueup/NAME.yaml)")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "keep it on the screen")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if watch && asJSON {
			return usageError("leave one of them out", "status: --watch is for people, --json for programs")
		}
		chosen, all, err := w.several(c.Context(), c, conf)
		if err != nil {
			return err
		}
		if watch {
			for _, p := range chosen {
				p.readAgain() // it may change while somebody looks
			}
			return watchStatus(c.Context(), u, func(ctx context.Context) ([]facts, error) { return look(ctx, chosen, all) })
		}
		reports, err := look(c.Context(), chosen, all)
		if err != nil {
			return err
		}
		if err := show(u, reports, asJSON); err != nil {
			return err
		}
		for _, f := range reports {
			if len(f.needs()) > 0 {
				return &failure{code: exitNeeds}
			}
		}
		return nil
	}
	return c
}

// several finds the places to report on, and all that there are.
func (w *where) several(ctx context.Context, c *cobra.Command, conf string) (chosen, all []place, err error) {
	if conf != "" || w.name != "" {
		if w.unit != "" || foldersGiven(c) {
			return nil, nil, usageError("name one of them", "%s: a configuration is given, and a unit or folders too", c.Name())
		}
		p, err := (&which{config: conf, name: w.name, user: w.user}).ofConfig(ctx)
		return []place{p}, nil, err
	}
	byFolders, err := w.byFolders(c)
	if err != nil {
		return nil, nil, err
	}
	if byFolders {
		if w.state == "" {
			return nil, nil, usageError("add --state DIR, or set TRUEUP_STATE", "%s: the state folder is not given", c.Name())
		}
		p := place{folders: trigger.Folders{Spool: w.spool, State: w.state, Outbox: w.outbox}}
		return []place{p}, nil, nil
	}
	if all, err = adopted(ctx, w.user); err != nil {
		return nil, nil, err
	}
	if w.unit == "" && len(all) > 1 {
		return all, all, nil
	}
	p, err := pick(c.Name(), all, w.unit, w.user)
	return []place{p}, all, err
}

func look(ctx context.Context, chosen, all []place) (reports []facts, err error) {
	for _, p := range chosen {
		f, err := gather(ctx, p, all)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", strings.TrimSpace(p.unit+" "+p.folders.State), err)
		}
		reports = append(reports, f)
	}
	return reports, nil
}

func show(u *ui, reports []facts, asJSON bool) error {
	if !asJSON {
		u.page(statusText(reports))
		return nil
	}
	return sayJSON(u, statusDocument(reports))
}

// sayJSON prints a document whole.
func sayJSON(u *ui, document any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(u.out, printableJSON(text.String()))
	return err
}

// printableJSON escapes what encoding/json leaves as it is and a terminal would obey. Such runes stand in strings only.
func printableJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
