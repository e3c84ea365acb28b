package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

func historyVerb(u *ui) *cobra.Command {
	var w which
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use:   "history [flags] [KIND:NAME]",
		Short: "list the last runs",
		Long: `list the last runs, the latest first

A tick that found everything as it should be leaves no run; trueup status says when that was last.`,
		Example: "  trueup history command:proxy --limit 5",
		Args:    atMostOne("target"),
	}
	w.flags(c)
	c.Flags().IntVar(&limit, "limit", 20, "how many runs: `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if limit <= 0 {
			return usageError("", "history: --limit %d: want a number above zero", limit)
		}
		s, err := w.past(c.Context(), u)
		if err != nil {
			return err
		}
		defer s.close()
		var target reconcile.Key
		if len(args) > 0 {
			if target, err = reconcile.ParseKey(args[0]); err != nil {
				return usageError("trueup status lists the targets", "%w", err)
			}
		}
		return s.runs(c.Context(), u, target, limit, asJSON)
	}
	return c
}

// runs lists runs. One that cannot be read is named, and the others are shown.
func (s *site) runs(ctx context.Context, u *ui, target reconcile.Key, limit int, asJSON bool) error {
	found, err := s.ledger.Runs(ctx, target, limit)
	if err != nil {
		return err
	}
	holds, err := s.holds(ctx)
	if err != nil {
		return err
	}
	document := runsJSON{Version: 1, Runs: []runJSON{}}
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tTARGET\tWHEN\tSTATE\tCHANGES")
	damaged := 0
	for _, run := range found {
		h, err := s.history(ctx, string(run))
		if err != nil {
			damaged++
			u.marked(red, "error: ", err.Error())
			continue
		}
		waits := holds[h.Lease.Target].Run == run
		document.Runs = append(document.Runs, runDocument(h, waits))
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", run, h.Lease.Target, ago(h.Lease.Since, time.Now()), stateText(h, waits), printable(changesLine(h.Plan)))
	}
	if len(found) == 0 && target != "" { // one that is gone has runs
		if _, err := s.declared(string(target)); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		err = sayJSON(u, document)
	case len(found) == 0:
		u.say("no run is on record")
	default:
		_ = table.Flush() // into memory
		u.page(strings.Split(strings.TrimRight(text.String(), "\n"), "\n"))
	}
	if err == nil && damaged > 0 {
		err = &failure{code: exitState}
	}
	return err
}

func showVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:     "show [flags] [RUN]",
		Short:   "tell the story of a run",
		Long:    "tell the story of a run, by default the latest: who asked, what was planned, done and held back, and how it ended",
		Example: "  trueup show r-7f3k2",
		Args:    atMostOne("run"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := w.past(c.Context(), u)
		if err != nil {
			return err
		}
		defer s.close()
		h, err := s.named(c.Context(), args)
		if err != nil || h.Phase == reconcile.Unopened {
			return noRun(u, err)
		}
		holds, err := s.holds(c.Context())
		if err != nil {
			return err
		}
		waits := holds[h.Lease.Target].Run == h.Lease.Run
		if asJSON {
			return sayJSON(u, runDocument(h, waits))
		}
		u.page(storyText(h, waits, time.Now()))
		return nil
	}
	return c
}

// named reads the run that the command line names, or the latest; where there is none it is not opened.
func (s *site) named(ctx context.Context, args []string) (h reconcile.History, err error) {
	if len(args) > 0 {
		return s.history(ctx, args[0])
	}
	latest, err := s.ledger.Runs(ctx, "", 1)
	if err != nil || len(latest) == 0 {
		return h, err
	}
	return s.history(ctx, string(latest[0]))
}

func noRun(u *ui, err error) error {
	if err == nil {
		u.say("no run is on record")
	}
	return err
}

func logsVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:     "logs [flags] [RUN]",
		Short:   "print what a run's commands printed",
		Long:    "print what a run's commands printed, by default the latest's, as far as it was kept; secrets are blotted out",
		Example: "  trueup logs r-7f3k2",
		Args:    atMostOne("run"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := w.past(c.Context(), u)
		if err != nil {
			return err
		}
		defer s.close()
		h, err := s.named(c.Context(), args)
		if err != nil || h.Phase == reconcile.Unopened {
			return noRun(u, err)
		}
		logs, err := s.ledger.Logs(c.Context(), h.Lease.Run)
		if err != nil {
			return err
		}
		if asJSON {
			return sayJSON(u, logsDocument(logs))
		}
		for _, l := range logs {
			u.say("%s  %s", l.At.Local().Format(clockTime), l.Stream)
			for line := range strings.Lines(l.Text) {
				u.say("    %s", strings.TrimSuffix(line, "\n"))
			}
		}
		return nil
	}
	return c
}

// runJSON is what show --json prints, and history --json of each run.
type runJSON struct {
	Version int             `json:"version,omitempty"`
	Run     reconcile.RunID `json:"run"`
	Target  reconcile.Key   `json:"target"`
	State   reconcile.Phase `json:"state"`
	Waits   bool            `json:"waits"` // what it held back waits for approval now, however it has ended
	Began   time.Time       `json:"began"`
	Ended   *time.Time      `json:"ended"`
	Fence   reconcile.Fence `json:"fence"`
	Holder  string          `json:"holder"`
	Digest  string          `json:"digest,omitempty"` // of what waits, or waited, for approval
	Events  []eventJSON     `json:"events"`
}

type eventJSON struct {
	Seq  int             `json:"seq"`
	At   time.Time       `json:"at"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

type runsJSON struct {
	Version int       `json:"version"`
	Runs    []runJSON `json:"runs"`
}

// standsAt is how far a run is. One that held something back which waits no more has just succeeded.
func standsAt(h reconcile.History, waits bool) reconcile.Phase {
	if h.Phase == reconcile.AwaitsYou && !waits {
		return reconcile.Done
	}
	return h.Phase
}

func stateText(h reconcile.History, waits bool) string {
	if waits && h.Phase != reconcile.AwaitsYou {
		return string(h.Phase) + ", held" // it failed in the rest of its plan
	}
	return string(standsAt(h, waits))
}

func runDocument(h reconcile.History, waits bool) runJSON {
	d := runJSON{Version: 1, Run: h.Lease.Run, Target: h.Lease.Target, State: standsAt(h, waits), Waits: waits, Began: h.Lease.Since, Ended: instant(h.Ended),
		Fence: h.Lease.Fence, Holder: h.Lease.Holder}
	if h.Hold != nil {
		d.Digest = h.Hold.Digest
	}
	for _, e := range h.Events {
		typ, data, _ := reconcile.EncodeFact(e.Fact) // it was read from the same form
		d.Events = append(d.Events, eventJSON{e.Seq, e.At, typ, data})
	}
	return d
}

// logsJSON is what logs --json prints.
type logsJSON struct {
	Version int          `json:"version"`
	Logs    []outputJSON `json:"logs"`
}

type outputJSON struct {
	At     time.Time `json:"at"`
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
}

func logsDocument(logs []reconcile.Log) logsJSON {
	d := logsJSON{Version: 1, Logs: []outputJSON{}}
	for _, l := range logs {
		d.Logs = append(d.Logs, outputJSON{l.At, l.Stream, l.Text})
	}
	return d
}
