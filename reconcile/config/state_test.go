package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile/config"
	"trueup/reconcile/policy"
)

// secretWord is one that nothing may say.
const secretWord = "hunter2-and-more"

func TestStateOfADatabase(t *testing.T) {
	const such = "such as postgres://trueup@db.example.org/trueup?sslmode=verify-full"
	for state, want := range map[string]string{
		"postgres://trueup@db/trueup":                           "",
		"postgresql://trueup@db:5433,other:5433/trueup":         "",
		"postgres://trueup@/trueup?host=/run/postgresql":        "",
		"postgres:///?dbname=trueup&search_path=web":            "",
		"postgres://db/trueup?sslmode=verify-full":              "",
		"postgres://trueup@db/trueup?passfile=/etc/trueup/pass": "",
		"postgres://trueup@db/trueup?sslmode=full":              "state: sslmode is one of disable, allow, prefer, require, verify-ca, verify-full",
		"postgres://trueup@db":                                  "state: it names no database → " + such,
		"postgres://trueup@db/":                                 "state: it names no database → " + such,
		"postgres://trueup@db:port/trueup":                      "state: it is no address of a database → " + such,
		"postgres://ada:" + secretWord + "@db/trueup":           "state: the URL has a password in it → secrets come from files or credentials",
		"postgres://ada@db/trueup?password=" + secretWord:       "state: the URL has a password in it → give ledger.password {file: /path} or {credential: NAME}, or passfile=/path",
		"postgres://ada@db/trueup?sslpassword=" + secretWord:    "state: the URL has a password in it → give ledger.password {file: /path} or {credential: NAME}, or passfile=/path",
	} {
		got := told(t, map[string]string{"trueup.yaml": "version: 1\nstate: " + state + "\n"}, options())
		switch {
		case want == "" && len(got) > 0, want != "" && (len(got) != 1 || got[0] != "trueup.yaml:2: "+want):
			t.Errorf("%s: want %q, got %q", state, want, got)
		case strings.Contains(strings.Join(got, " "), secretWord):
			t.Errorf("%s: it says the password: %q", state, got)
		}
		_, err := config.StateOf(state)
		if (err == nil) != (want == "") || err != nil && strings.Contains(err.Error(), secretWord) {
			t.Errorf("%s on the command line: %v", state, err)
		}
	}
	wants(t, "version: 1\nstate: sqlite:///srv/x.db\nledger:\n  password: {file: /etc/pass}\n",
		"trueup.yaml:4: ledger.password: the ledger is a file, and has none → leave it out")
	wants(t, "version: 1\nstate: postgres://db/trueup\nledger: {password: "+secretWord+"}\n",
		"trueup.yaml:3: ledger.password: a secret has no place in the configuration → write it to a file of its own, and here {file: /path} or {credential: NAME}")
}

// TestPasswordOfADatabase is in the address that the store is given, and in nothing that is shown.
func TestPasswordOfADatabase(t *testing.T) {
	dir := filepath.Dir(files(t, map[string]string{"trueup.yaml": ""}))
	pass := filepath.Join(dir, "pass")
	odd := secretWord + "@:/?#%"
	if err := os.WriteFile(pass, []byte(odd+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(text string) *config.Config {
		t.Helper()
		file := filepath.Join(dir, "trueup.yaml")
		if err := os.WriteFile(file, []byte("version: 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(file, options())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := write("state: postgres://ada@db/trueup?sslmode=require\nledger: {password: {file: " + pass + "}}\ntargets:\n- kind: command\n  name: web\n  check: [/bin/true]\n  requires: [gpu]\n")
	address, err := c.Address()
	if want := "postgres://ada:" + secretWord + "%40%3A%2F%3F%23%25@db/trueup?sslmode=require"; err != nil || address != want {
		t.Errorf("asked at %s, %v; want %s", address, err, want)
	}
	shown, err := c.Show(true)
	if err != nil || strings.Contains(string(shown)+c.Database(), secretWord) || c.Database() != "postgres://ada@db/trueup?sslmode=require" || !c.Shared() {
		t.Errorf("shown as %s\n%s, %v", c.Database(), shown, err)
	}
	if err := os.Chmod(pass, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Address(); err == nil || !strings.HasPrefix(err.Error(), "ledger.password: ") || strings.Contains(err.Error(), secretWord) {
		t.Errorf("a password that others may read: %v", err)
	}
	if c := write("state: sqlite:///srv/x.db\n"); c.Shared() || c.Database() != "/srv/x.db" {
		t.Errorf("a file is %s, shared: %t", c.Database(), c.Shared())
	}
}

// TestPlain names the host to which a network leads that others may listen to.
func TestPlain(t *testing.T) {
	for state, want := range map[string]string{
		"sqlite:///srv/x.db":                              "",
		"postgres://ada@db.example.org/trueup":            "db.example.org",
		"postgres://ada@10.0.0.7:5433/x?sslmode=prefer":   "10.0.0.7",
		"postgres://ada@localhost,db2:5432/x":             "db2",
		"postgres://ada@/x?host=db3":                      "db3",
		"postgres://ada@/x?host=/run/postgresql":          "",
		"postgres:///x":                                   "",
		"postgres://ada@localhost/x":                      "",
		"postgres://ada@[::1]:5432/x":                     "",
		"postgres://ada@127.0.0.1/x":                      "",
		"postgres://ada@db.example.org/x?sslmode=require": "",
	} {
		if got := (&config.Config{State: state}).Plain(); got != want {
			t.Errorf("%s: want %q, got %q", state, want, got)
		}
	}
}

// TestLocal: what each host ticks by its own file, and any host may.
func TestLocal(t *testing.T) {
	local := config.Target{Kind: "command", Name: "a", Policy: policy.Source{File: "/etc/a.yaml"}}
	chosen, asked := local, local
	chosen.Requires, asked.Policy = []string{"zone=eu"}, policy.Source{URL: "https://example.org/a"}
	for state, want := range map[string]int{"postgres://ada@localhost/x": 1, "sqlite:///x": 0} {
		if got := (&config.Config{State: state, Targets: []config.Target{local, chosen, asked}}).Local(); len(got) != want {
			t.Errorf("%s: %v, want %d", state, got, want)
		}
	}
}
