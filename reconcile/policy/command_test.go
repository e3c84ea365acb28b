package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile/policy"
)

// What a program complains of goes into reports, events and the journal: without secrets, wherever they stand and however
// much is left out, and without what terminals would obey.
func TestComplaintsHoldNoSecrets(t *testing.T) {
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "token"), []byte("correct-horse-battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	t.Setenv("API_TOKEN", "staple-and-paperclip")
	for name, script := range map[string]string{
		"a credential": `echo "denied: correct-horse-battery" >&2; exit 1`,
		"a variable":   `echo "denied: $API_TOKEN" >&2; exit 1`,
		"cut in two":   `printf 'denied: correct-horse-battery%0490d' 0 >&2; exit 1`,
		"in a flood":   `i=0; while [ $i -lt 4000 ]; do echo "$i correct-horse-battery $API_TOKEN" >&2; i=$((i+1)); done; exit 1`,
	} {
		source := sh(script)
		source.Redact = []string{"API_TOKEN"}
		_, err := read(t, source)
		unknown(t, name, err, "exit status 1: ")
		for _, piece := range []string{"horse", "battery", "staple", "clip"} {
			if strings.Contains(err.Error(), piece) {
				t.Errorf("%s: a piece of a secret is told: %v", name, err)
			}
		}
		if len(err.Error()) > 700 {
			t.Errorf("%s: %d bytes are told", name, len(err.Error()))
		}
	}
	_, err := read(t, sh(`printf 'a\033[2Jb\342\200\256c\n' >&2; exit 1`))
	unknown(t, "what terminals obey", err, "a?[2Jb?c")
}

// What opens the ledger is not the program's.
func TestProgramsCannotOpenTheLedger(t *testing.T) {
	t.Setenv("PGPASSWORD", "of the ledger")
	t.Setenv("PGPASSFILE", "/etc/trueup/pgpass")
	d, err := read(t, sh(`echo "found: [$PGPASSWORD $PGPASSFILE]"`))
	if err != nil || string(d.Data) != "found: [ ]\n" {
		t.Errorf("it reads %q, %v", d.Data, err)
	}
}

func TestRedactNamesVariables(t *testing.T) {
	for want, s := range map[string]policy.Source{
		"there is none":         {File: "/x", Redact: []string{"A"}},
		"no name of a variable": {Command: []string{"/x"}, Redact: []string{"s3cret value"}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
