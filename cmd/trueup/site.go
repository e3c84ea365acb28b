package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/node"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/trigger"
)

// A site is an installation as its configuration declares it, with everything wired together.
type site struct {
	*config.Config
	which   which
	ledger  store
	engine  reconcile.Reconciler
	session *node.Session // of this host's node; nil where nothing is ticked, or the ledger is this host's alone
}

func configOptions(name string, user bool) (config.Options, error) {
	home := "/var/lib/trueup"
	if user {
		own, err := os.UserHomeDir()
		if err != nil {
			return config.Options{}, err
		}
		home = filepath.Join(own, ".local/state/trueup")
	}
	instance := "trueup"
	if name != "" {
		instance += "-" + name
	}
	defaults := config.Defaults(home, instance)
	p, b := trigger.DefaultPolicy(), plan.DefaultBreaker()
	defaults.Trigger.Floor, defaults.Trigger.Sweep, defaults.Trigger.RetryMax = p.Floor, p.Sweep, p.RetryMax
	defaults.Breaker.Removals, defaults.Breaker.Fraction = b.Removals, b.Fraction
	return config.Options{Kinds: kinds(), Defaults: defaults, Check: triggerBounds}, nil
}

// triggerBounds holds the configuration against what the trigger allows.
func triggerBounds(c *config.Config) error {
	p := trigger.Policy{Floor: c.Trigger.Floor, Sweep: c.Trigger.Sweep, RetryMax: c.Trigger.RetryMax}
	return config.In("trigger", p.Validate())
}

func loadConfig(file, name string, user bool) (*config.Config, error) {
	o, err := configOptions(name, user)
	if err != nil {
		return nil, err
	}
	return config.Load(file, o)
}

// open wires the installation up for a process that writes to the ledger.
func (w *which) open(ctx context.Context, holder string) (*site, error) {
	return w.wire(ctx, opening{holder: holder})
}

// act wires it up for a process that writes to a ledger that is there: only the service and its sweeps make one.
func (w *which) act(ctx context.Context, holder string) (*site, error) {
	return w.wire(ctx, opening{holder: holder, existing: true})
}

// look wires it up to read. Where the ledger cannot be opened the site comes without one, beside the error, which matches
// fs.ErrNotExist where there is none yet. Without a site the configuration is at fault.
func (w *which) look(ctx context.Context) (*site, error) {
	return w.wire(ctx, opening{readOnly: true})
}

func (w *which) wire(ctx context.Context, o opening) (*site, error) {
	c, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	s := &site{Config: c, which: *w, engine: reconcile.Reconciler{Tickers: map[reconcile.Key]reconcile.Ticker{}, TTL: c.Lease.TTL, Uptime: trigger.SystemClock{}.Now, Parallel: c.Parallel, Owner: c.Trigger.State, Keep: retention(c)}}
	if c.Shared() && !o.readOnly {
		o.node, _ = node.Folder(c.Trigger.State).Incarnation() // who begins a session meets what is wrong with it
	}
	if s.ledger, err = openStore(ctx, c, o); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		hint := "the first sweep makes the ledger: the service's, soon after trueup install, or trueup sweep by hand"
		if !o.readOnly && !o.existing && !c.Shared() {
			hint = "trueup install makes the folders; by hand: install -d -m 700 " + quoted(filepath.Dir(c.Database()))
		}
		err = fail(exitConfig, hint, "%w", err)
	}
	s.engine.Ledger, s.engine.Archive, s.engine.Trigger = s.ledger, s.ledger, spool(c.Trigger.Spool)
	read := policy.NewReader(ctx, http.DefaultTransport)
	if !o.readOnly {
		read.KeepCopies(filepath.Join(c.Trigger.State, "policies"))
	}
	for _, t := range c.Targets {
		s.engine.Targets = append(s.engine.Targets, t.Target())
		s.engine.Tickers[t.Key()] = ticker(t, read)
	}
	return s, err
}

func (s *site) close() error {
	if s.ledger == nil {
		return nil
	}
	err := s.ledger.Close()
	if s.session != nil {
		err = errors.Join(err, s.session.Close()) // last: until then nobody takes its leases for a dead process's
	}
	return err
}

// folders are those of the trigger.
func (s *site) folders() trigger.Folders {
	return trigger.Folders{Spool: s.Trigger.Spool, State: s.Trigger.State, Outbox: s.Outbox}
}

// A spool asks for a sweep as a web app does, by a touch for each target.
type spool string

// Notify is reconcile.Trigger's.
func (s spool) Notify(_ context.Context, targets ...reconcile.Key) error {
	names := make([]string, len(targets))
	for i, key := range targets {
		names[i] = string(key)
	}
	return trigger.Touch(string(s), names...)
}

// declared finds a target by its name on the command line.
func (s *site) declared(name string) (reconcile.Target, error) {
	key, err := reconcile.ParseKey(name)
	if err != nil {
		return reconcile.Target{}, usageError("trueup status lists the targets", "%w", err)
	}
	for _, t := range s.engine.Targets {
		if t.Key == key {
			return t, nil
		}
	}
	return reconcile.Target{}, usageError("trueup status lists the targets", "%s is not declared", key)
}

// holderName says which process this is, for people who meet its leases.
func holderName(verb string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("%s on %s, pid %d", verb, host, os.Getpid())
}

// known is what is known of each target; nothing, while there is no ledger.
func (s *site) known(ctx context.Context, epochs ...string) (map[reconcile.Key]reconcile.Standing, error) {
	if s.ledger == nil {
		return nil, nil
	}
	standings, err := s.ledger.Standings(ctx, epochs...)
	if err != nil {
		return nil, err
	}
	known := make(map[reconcile.Key]reconcile.Standing, len(standings))
	for _, standing := range standings {
		known[standing.Target] = standing
	}
	return known, nil
}

// records are what a preview reads: nothing, while there is no ledger.
func (s *site) records() plan.Records {
	if s.ledger == nil {
		return noRecords{}
	}
	return s.ledger
}

type noRecords struct{}

func (noRecords) Records(context.Context, string, string) ([]reconcile.Record, error) {
	return nil, nil
}
