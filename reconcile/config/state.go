package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"trueup/reconcile"
)

// How a ledger is written: as a file of this host, or as a database that several hosts share.
const (
	stateScheme = "sqlite://"
	otherScheme = "postgres://"
)

// Shared tells whether the ledger is a database that several hosts share, and not a file of this one.
func (c *Config) Shared() bool { return shared(c.State) }

func shared(state string) bool {
	return strings.HasPrefix(state, otherScheme) || strings.HasPrefix(state, "postgresql://")
}

// Database names the ledger: the path of its file, or the address of a database that is shared. There is nothing secret in it.
func (c *Config) Database() string { return strings.TrimPrefix(c.State, stateScheme) }

// Address is Database with the password, where ledger.password says where that stands. Nobody may be shown it.
func (c *Config) Address() (string, error) {
	if c.Ledger.Password.IsZero() || !c.Shared() {
		return c.Database(), nil
	}
	password, err := c.Ledger.Password.Read()
	if err != nil {
		return "", fmt.Errorf("ledger.password: %w", err)
	}
	u, err := url.Parse(c.State)
	if err != nil {
		return "", fmt.Errorf("state: it is no address, such as %suser@host/database", otherScheme)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}

// Plain is the host to which the ledger's database is asked without TLS, or perhaps so, through a network where others may
// listen. It is empty where there is none.
func (c *Config) Plain() string {
	u, err := url.Parse(c.State)
	if err != nil || !c.Shared() || slices.Contains([]string{"require", "verify-ca", "verify-full"}, u.Query().Get("sslmode")) {
		return ""
	}
	hosts := u.Query()["host"]
	if u.Host != "" {
		hosts = strings.Split(u.Host, ",")
	}
	for _, host := range hosts {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "" && host != "localhost" && !filepath.IsAbs(host) && (ip == nil || !ip.IsLoopback()) {
			return host
		}
	}
	return ""
}

// Local are the targets of a shared ledger whose policy is a file, and which any host may tick: each by its own copy of it.
func (c *Config) Local() (keys []reconcile.Key) {
	for _, t := range c.Targets {
		if c.Shared() && t.Policy.File != "" && len(t.Requires) == 0 {
			keys = append(keys, t.Key())
		}
	}
	return keys
}

// StateOf reads a ledger's place as the key state has it: for who names one on the command line.
func StateOf(state string) (*Config, error) {
	l := loader{config: &Config{State: state, origins: map[string]place{}}}
	switch l.state(place{}); {
	case l.count() > 0:
		return nil, l.err()
	case withPassword(state):
		l.add(place{}, "write it to a file, and give the file's path as passfile=", "state: the URL has a password in it")
		return nil, l.err()
	}
	return l.config, nil
}

// state looks at how the ledger is written.
func (l *loader) state(at place) {
	c := l.config
	path, ours := strings.CutPrefix(c.State, stateScheme)
	switch {
	case c.Shared():
		l.address(at)
	case !ours:
		scheme, _, _ := strings.Cut(c.State, ":")
		hint := "write sqlite:///path/ledger.db, or postgres://user@host/database"
		if filepath.IsAbs(c.State) {
			hint = "did you mean \"" + stateScheme + c.State + "\"?"
		}
		l.add(at, hint, "state: no ledger is kept in %q", scheme)
	case !filepath.IsAbs(path):
		l.add(at, "three slashes: sqlite:///path/ledger.db", "state: %q is a relative path", path)
	case strings.ContainsAny(path, "?#%"):
		l.add(at, "", "state: a path without ?, # and %%")
	case strings.HasSuffix(path, "/"):
		l.add(at, "name a file in it", "state: %s is a folder", path)
	}
	if at, given := c.origins["ledger.password"]; given && !c.Shared() {
		l.add(at, "leave it out", "ledger.password: the ledger is a file, and has none")
	}
}

// address looks at how a shared database is written. What is wrong with it is told without it: it may hold a password.
func (l *loader) address(at place) {
	const such = "such as postgres://trueup@db.example.org/trueup?sslmode=verify-full"
	u, err := url.Parse(l.config.State)
	if err != nil || u.Fragment != "" {
		l.add(at, such, "state: it is no address of a database")
		return
	}
	q := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		if q.Has(secret) {
			l.add(at, "give ledger.password {file: /path} or {credential: NAME}, or passfile=/path", "state: the URL has a password in it")
		}
	}
	if strings.Trim(u.Path, "/") == "" && q.Get("dbname") == "" {
		l.add(at, such, "state: it names no database")
	}
	modes := []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}
	if mode := q.Get("sslmode"); q.Has("sslmode") && !slices.Contains(modes, mode) {
		l.add(at, didYouMean(nearest(mode, modes)), "state: sslmode is one of %s", strings.Join(modes, ", "))
	}
}
