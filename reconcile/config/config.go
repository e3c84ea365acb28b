package config

import (
	"path/filepath"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

// Config is what holds: what the file says, and the defaults for the rest.
type Config struct {
	Version  int      `yaml:"version" required:"true" max:"1" doc:"the version of this format: 1"`
	Trigger  Trigger  `yaml:"trigger" doc:"how touches become sweeps"`
	State    string   `yaml:"state" doc:"the ledger: sqlite:///path/ledger.db, a file on a local disk, or postgres://user@host/database, which several hosts share; without it ledger.db in trigger.state"`
	Outbox   string   `yaml:"outbox" path:"abs" doc:"the folder that the web app reads: status.json"`
	Report   string   `yaml:"report" path:"abs" doc:"a folder for what operators read, which the web app does not"`
	Lease    Lease    `yaml:"lease" doc:"how targets are held"`
	Ledger   Ledger   `yaml:"ledger" doc:"how much of the past is kept, and the password of a ledger that has one"`
	Breaker  Breaker  `yaml:"breaker" doc:"what a plan may remove without a person's approval"`
	Parallel int      `yaml:"parallel" max:"256" doc:"how many targets are ticked at once"`
	Include  []string `yaml:"include" doc:"further files with targets, as globs relative to this file"`
	Targets  []Target `yaml:"targets" doc:"what is kept true"`

	origins map[string]place
}

// Trigger says where touches arrive and how often they may start a sweep.
type Trigger struct {
	Spool    string        `yaml:"spool" path:"abs" doc:"the folder that the web app writes: sentinel, requests/"`
	State    string        `yaml:"state" path:"abs" doc:"the trigger's own folder"`
	Floor    time.Duration `yaml:"floor" doc:"least time between the end of a successful sweep and the next"`
	Sweep    time.Duration `yaml:"sweep" doc:"how often everything is swept, touched or not"`
	RetryMax time.Duration `yaml:"retry_max" doc:"the longest wait after failures in a row"`
}

// Lease says how targets are held.
type Lease struct {
	TTL time.Duration `yaml:"ttl" min:"10s" max:"24h" doc:"how long a lease lives that is not renewed; a tenth of it is left to end what cannot be renewed"`
}

// Ledger says how much of the past is kept, and with what password a database is asked. What is open or waits for a person is, whatever it says.
type Ledger struct {
	Keep time.Duration `yaml:"keep" min:"1h" doc:"how long runs and finished work items are kept; 2160h are 90 days"`
	Runs int           `yaml:"runs" min:"0" doc:"how many of a target's last runs are kept, however old"`
	Logs int           `yaml:"logs" max:"1048576" doc:"how many MiB of what commands printed are kept, the latest"`

	Password Secret `yaml:"password" doc:"the password of the database, with postgres:// only"`
}

// MostLogs is the bound of Ledger.Logs.
const MostLogs = 1 << 20

// Breaker bounds the removals that are done without approval: the smaller of both.
type Breaker struct {
	Removals int     `yaml:"removals" min:"0" doc:"how many removals; 0 lets none pass"`
	Fraction float64 `yaml:"fraction" min:"0" max:"1" doc:"which part of what is there: 0.25 is a quarter, 0 lets none pass"`
}

// Target is one thing that is kept true.
type Target struct {
	Kind     string            `yaml:"kind" required:"true" doc:"what sort of thing it is"`
	Name     string            `yaml:"name" required:"true" doc:"its name within the kind: letters, digits and ._@-"`
	Scopes   []reconcile.Scope `yaml:"scopes" doc:"what its ticks hold besides the target itself; two targets with a scope in common take turns"`
	Requires []string          `yaml:"requires" doc:"labels that a host must have to tick it; refused where the ledger is one host's alone"`
	Policy   policy.Source     `yaml:"policy" doc:"where the desired state stands"`
	Breaker  Breaker           `yaml:"breaker" doc:"the breaker of this target alone; what it leaves out is as for all"`
	Timeout  time.Duration     `yaml:"timeout" doc:"how long a tick may take"`

	// Settings are the kind's own, as its function in Kinds made them, filled in.
	Settings any
	// Fingerprint changes when the settings or the policy's source do.
	Fingerprint string
}

// Key is the target's key.
func (t Target) Key() reconcile.Key { return reconcile.Key(t.Kind + ":" + t.Name) }

// Target is what the domain knows of it.
func (t Target) Target() reconcile.Target {
	return reconcile.Target{Key: t.Key(), Scopes: t.Scopes, Timeout: t.Timeout, Requires: t.Requires, Fingerprint: t.Fingerprint}
}

// Kinds makes each kind's settings: a pointer to a new struct that holds the kind's defaults.
type Kinds map[string]func() any

// Options are what the program knows and the file does not.
type Options struct {
	Kinds    Kinds
	Defaults Config // see Defaults
	// Check adds rules of those who use the values, such as the trigger's bounds. Its errors are placed as those of a
	// Validate method are; In says which mapping they are about.
	Check func(*Config) error
}

// Defaults are the folders of an instance ("trueup", "trueup-NAME") below home (/var/lib/trueup, ~/.local/state/trueup),
// where the trigger's own convention has them, and the numbers that belong to nobody else. The trigger's durations and the
// breaker's bounds are for the caller to fill in, from the packages that they belong to.
func Defaults(home, instance string) Config {
	at := func(role string) string { return filepath.Join(home, instance, role) }
	return Config{
		Version:  1,
		Trigger:  Trigger{Spool: at("spool"), State: at("state")},
		Outbox:   at("outbox"),
		Report:   at("report"),
		Lease:    Lease{TTL: 15 * time.Minute},
		Ledger:   Ledger{Keep: 90 * 24 * time.Hour, Runs: 50, Logs: 256},
		Parallel: 8,
	}
}

// defaultTimeout bounds a tick whose target says nothing.
const defaultTimeout = 10 * time.Minute
