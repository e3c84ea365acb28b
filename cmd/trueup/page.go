package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/reconcile/publish"
)

const pageFile = "index.html"

// pageMode lets the folder's group read: plans name people and what they lose. Who looks after the host gives the folder to
// the group that may.
const pageMode = 0o640

func pageVerb(u *ui) *cobra.Command {
	var w where
	var conf, output string
	var asJSON bool
	c := &cobra.Command{
		Use:   "page [flags]",
		Short: "write the status page",
		Long: `write the status page: one HTML file that needs no server and nothing else

Each sweep writes it to index.html in the report folder. It shows what trueup status, history and show
know: what needs a person first. Of an adopted service that is not trueup's own it shows the trigger.`,
		Example: "  trueup page --unit web-reconciler.service --output web.html",
		Args:    exactly(0, "nothing"),
	}
	w.unitFlags(c)
	w.spoolFlag(c)
	w.stateFlag(c)
	w.outboxFlag(c)
	c.Flags().StringVarP(&conf, "config", "c", "", "the targets of a configuration `FILE`, and its trigger (with --name: /etc/trueup/NAME.yaml)")
	c.Flags().StringVarP(&output, "output", "o", "", "write it to `FILE`, or with - print it (by default index.html in the configuration's report folder)")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was written as JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		chosen, all, err := w.several(c.Context(), c, conf)
		if err != nil {
			return err
		}
		if len(chosen) > 1 {
			_, err := pick(c.Name(), all, "", w.user)
			return err
		}
		f, err := gather(c.Context(), chosen[0], all)
		if err != nil {
			return err
		}
		if output == "" && (f.site == nil || f.site.report == "") {
			return usageError("add --output FILE", "page: %s has no report folder", cmp.Or(f.unit, f.folders.State))
		}
		v := view{facts: f}
		if f.site != nil {
			v.read(c.Context(), f.site.which)
		}
		return v.deliver(u, output, asJSON)
	}
	return c
}

// pageJSON is what page --json prints.
type pageJSON struct {
	Version int    `json:"version"`
	Page    string `json:"page"`
	Bytes   int    `json:"bytes"`
	Needs   int    `json:"needs"` // for how many things a person is needed
}

// deliver writes the page where it is wanted.
func (v *view) deliver(u *ui, output string, asJSON bool) error {
	text, err := v.page().HTML()
	if err != nil {
		return err
	}
	if output == "-" {
		_, err := u.out.Write(text)
		return err
	}
	path := output
	if path == "" {
		path, err = reportPath(v.site.report)
	} else {
		path, err = filepath.Abs(path)
		if info, lerr := os.Lstat(path); lerr == nil && !info.Mode().IsRegular() {
			return usageError("name a file, or print the page with --output -", "page: %s is there, and is no file", path)
		}
	}
	if err == nil {
		err = publish.Replace(path, text, pageMode)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return sayJSON(u, pageJSON{1, path, len(text), len(v.needs())})
	}
	u.say("%s", path)
	return nil
}

// reportPath is the page's file in a report folder, which is made where it is not there.
func reportPath(report string) (string, error) {
	return filepath.Join(report, pageFile), os.MkdirAll(report, 0o755)
}

// read reads the runs and the day's activity, each as far as it can be.
func (v *view) read(ctx context.Context, w which) {
	s, err := w.look(ctx)
	if s == nil {
		return // which is the first thing on the page
	}
	defer s.close()
	if s.ledger != nil {
		v.runs, err = s.recent(ctx, v.site.holds)
	}
	var activityErr error
	v.activity, activityErr = publish.ReadActivity(s.Report)
	if err = errors.Join(err, activityErr); err != nil && v.site.err == nil && s.ledger != nil {
		v.remarks = append(v.remarks, oneLine(err))
	}
}
