package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// smallest is the least configuration that does something, as printf takes it.
const smallest = `version: 1\ntargets:\n  - {kind: command, name: hello, check: {shell: test -e %[1]s || exit 2}, apply: {shell: touch %[1]s}}\n`

func installVerb(u *ui) *cobra.Command {
	var i units.Installation
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "install [flags]",
		Short: "make trueup a service behind a trigger",
		Long: `make trueup a service: trueup.service sweeps the targets of the configuration, when a touch asks
for it and every five minutes

It writes the service, hardened, and adopts it: path unit, timer and folders come as with trueup
adopt. Installing again changes only what differs, and takes over what the configuration says by then
about folders and times; a flag that is left out keeps what was installed before. trueup uninstall
takes it all away again.`,
		Example: "  sudo trueup install --web-group web",
		Args:    exactly(0, "no arguments"),
	}
	f := c.Flags()
	w.flags(c)
	f.StringVar(&i.WebGroup, "web-group", "", "the `GROUP` that may write the spool")
	f.StringVar(&i.Hardening, "hardening", "", "the sandbox `PROFILE`: api, host or none (host); trueup hardening prints it")
	f.BoolVar(&i.Replace, "replace", false, "put a path unit of that name that is not trueup's aside; uninstall brings it back")
	f.BoolVar(&i.DryRun, "dry-run", false, "change nothing, only say what would change")
	f.BoolVar(&i.NoStart, "no-start", false, "write everything, enable and start nothing")
	f.BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		m, err := configure(c.Context(), w, &i)
		if err != nil {
			return err
		}
		defer m.Close()
		changes, err := m.Install(c.Context(), i)
		if err == nil && asJSON {
			return sayJSON(u, installedDocument(changes, i))
		}
		if err == nil {
			u.say("%s   sweeps %s, when touched and every %s", changes.Adoption.Unit, i.Config, span(changes.Adoption.Policy.Sweep))
			sayTrigger(u, changes, i.Adoption)
			w.remindOfEnrolment(c.Context(), u)
			return nil
		}
		if !changes.None() && !asJSON {
			sayDone(u, changes, i.DryRun) // what was done before it went wrong
		}
		return adoptError("installing", err)
	}
	return c
}

// instanceFlags name one of several installations.
func instanceFlags(c *cobra.Command, name *string, user *bool) {
	c.Flags().StringVar(name, "name", "", "an instance `NAME` beside others: trueup-NAME.service, /etc/trueup/NAME.yaml")
	c.Flags().BoolVar(user, "user", false, "an instance of your own systemd --user")
}

// usualConfig is where an instance's configuration is looked for.
func usualConfig(name string, user bool) string {
	dir := "/etc"
	if own, err := os.UserConfigDir(); user && err == nil {
		dir = own
	}
	if name == "" {
		name = "trueup"
	}
	return filepath.Join(dir, "trueup", name+".yaml")
}

// configure finds the configuration and takes from it what the service has to be made for. One that was named and is
// not there is told before anything else.
func configure(ctx context.Context, w which, i *units.Installation) (*units.Manager, error) {
	i.Name = w.name
	if w.config != "" {
		if err := fromConfig(ctx, w, i); err != nil {
			return nil, err
		}
		return manager(ctx, w.user)
	}
	m, err := manager(ctx, w.user)
	if err != nil {
		return nil, err
	}
	if w.config, err = m.InstalledConfig(w.name); err != nil {
		err = adoptError("installing", err)
	} else {
		err = fromConfig(ctx, w, i)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// fromConfig fills in what the configuration says.
func fromConfig(ctx context.Context, w which, i *units.Installation) (err error) {
	if i.Config, err = w.file(ctx); err != nil {
		return fmt.Errorf("installing: %w", err)
	}
	if missingFile(i.Config) {
		return fail(exitConfig, beginWith(i.Config, w.user), "installing: there is no configuration %s", i.Config)
	}
	c, err := w.load(ctx)
	if err != nil {
		return err
	}
	i.Folders = trigger.Folders{Spool: c.Trigger.Spool, State: c.Trigger.State, Outbox: c.Outbox}
	i.Policy = trigger.Policy{Floor: c.Trigger.Floor, RetryMax: c.Trigger.RetryMax, Sweep: c.Trigger.Sweep}
	i.Report = c.Report
	if !c.Shared() {
		i.Ledger = filepath.Dir(c.Database())
	}
	return nil
}

// beginWith is a command that writes a first configuration.
func beginWith(file string, user bool) string {
	kept := "/etc/hello"
	if user {
		kept = "~/hello"
	}
	return fmt.Sprintf("begin with: printf '%s' | install -Dm644 /dev/stdin %s", fmt.Sprintf(smallest, kept), quoted(file))
}

// installedJSON is what install --json and uninstall --json print.
type installedJSON struct {
	Version  int            `json:"version"`
	Unit     string         `json:"unit"`
	User     bool           `json:"user"`
	Config   string         `json:"config,omitempty"`
	Spool    string         `json:"spool"`
	State    string         `json:"state"`
	Outbox   string         `json:"outbox"`
	DryRun   bool           `json:"dry_run"` // the changes are those that would be made
	Changes  []units.Change `json:"changes"`
	Warnings []string       `json:"warnings"`
}

func installedDocument(c units.Changes, i units.Installation) installedJSON {
	f := c.Adoption.Folders
	return installedJSON{Version: 1, Unit: c.Adoption.Unit, User: c.User, Config: i.Config, Spool: f.Spool, State: f.State,
		Outbox: f.Outbox, DryRun: i.DryRun, Changes: append([]units.Change{}, c.Done...), // never null
		Warnings: append([]string{}, c.Warnings...)}
}
