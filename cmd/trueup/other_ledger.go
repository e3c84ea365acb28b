package main

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/config"
)

const exitUnsafe = 69 // it takes a ledger that all share

func otherLedgerFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "unsafe-local-lease", false, "go on although the installed service keeps the same scopes in another ledger")
}

// sameLedger refuses to deal with scopes in this ledger that the installed service of the same name keeps in another: a lease
// in one keeps nobody out who asks the other. Where nothing is installed, or what is declares none of the scopes, there is
// nothing to keep out of.
func (w *which) sameLedger(ctx context.Context, s *site, scopes []reconcile.Scope, unsafe bool) error {
	if unsafe {
		return nil
	}
	m, err := manager(ctx, w.user)
	if err != nil {
		return nil // without systemd there is no service
	}
	defer m.Close()
	file, err := m.InstalledConfig(w.name)
	if err != nil || file == "" {
		return err
	}
	theirs, err := loadConfig(file, w.name, w.user)
	if err != nil {
		return fail(exitUnsafe, "--unsafe-local-lease goes on all the same", "nobody can tell which ledger the installed service keeps: %w", err)
	}
	return keptElsewhere(s.Config, theirs, file, scopes)
}

// keptElsewhere is the refusal, where the other configuration keeps a scope in another ledger.
func keptElsewhere(ours, theirs *config.Config, file string, scopes []reconcile.Scope) error {
	held, is := contested(ours, theirs, scopes)
	if !is {
		return nil
	}
	return fail(exitUnsafe, "leave -c out to act on the service's ledger; --unsafe-local-lease goes on all the same",
		"%s is kept in another ledger by the installed service: %s (%s), and here it would be %s", held, theirs.Database(), file, ours.Database())
}

// ledgerName is the configuration's ledger by the one name that it has.
func ledgerName(c *config.Config) string {
	if c.Shared() {
		return sharedName(c)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(c.Database()))
	if err != nil {
		return c.Database()
	}
	return filepath.Join(folder, filepath.Base(c.Database()))
}

// sharedName is where a shared ledger stands, whoever asks it and however: hosts, database and schema.
func sharedName(c *config.Config) string {
	u, err := url.Parse(c.Database())
	if err != nil {
		return c.Database()
	}
	q := u.Query()
	return strings.Join([]string{"postgres", u.Host + q.Get("host"), q.Get("port"), cmp.Or(strings.Trim(u.Path, "/"), q.Get("dbname")), q.Get("search_path")}, " ")
}
