package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatCannotBeRead: the command that status names is about what is at fault, and a ledger's fault is not taken for
// folders that were moved.
func TestWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "trueup.yaml")
	write(t, filepath.Join(dir, "ledger.db"), "no database, but for its length, which is more than a page's header\n")
	text := fmt.Sprintf("version: 1\ntrigger: {spool: %[1]s/spool, state: %[1]s/state}\noutbox: %[1]s/outbox\nstate: sqlite://%[1]s/ledger.db\n", dir)
	for name, c := range map[string]struct{ text, do string }{
		"configuration": {text + "colour: red\n", "trueup check -c " + conf},
		"ledger":        {text, "trueup ledger check -c " + conf},
	} {
		write(t, conf, c.text)
		w := which{config: conf}
		f := lookAtSite(t.Context(), w)
		declared := f.folders
		if found := f.needs(declared); len(found) != 1 || !strings.HasPrefix(found[0].What, "broken: ") || found[0].Do != c.do {
			t.Errorf("%s: needs %q, want what to do to be %q", name, found, c.do)
		}
		p, err := w.ofConfig(t.Context())
		if name == "ledger" && (err != nil || len(f.moved(p.folders)) > 0) {
			t.Errorf("%s: %v, %v", name, f.moved(p.folders), err)
		}
	}
}

// TestConfigurationIsReadOnce: to find the trigger and to look at it, which is most of what a look at many targets costs; who
// watches reads it each time.
func TestConfigurationIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "trueup.yaml")
	write(t, conf, fmt.Sprintf("version: 1\ntrigger: {spool: %[1]s/spool, state: %[1]s/state}\noutbox: %[1]s/outbox\nstate: sqlite://%[1]s/ledger.db\n", dir))
	p, err := (&which{config: conf}).ofConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, conf, "version: 1\ncolour: red\n")
	if f := siteOf(t.Context(), p); f.err != nil || !f.declared {
		t.Errorf("read again: %v", f.err)
	}
	p.readAgain()
	if f := siteOf(t.Context(), p); f.err == nil || f.declared {
		t.Error("a watch goes on with what was read first")
	}
}
