package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

func TestCheck(t *testing.T) {
	in, log := input()
	seen, err := checker(t, "echo all is well").Observe(t.Context(), in)
	if err != nil || len(seen.Changes) > 0 || log.text["check"] != "all is well\n" {
		t.Errorf("in sync: %+v, %v, logged %q", seen, err, log.text)
	}
	k := checker(t, "echo '-a'; echo '+b' >&2; exit 2")
	seen, err = k.Observe(t.Context(), in)
	want := reconcile.Plan{{ID: "apply", Op: reconcile.Update, Text: "drift: -a | +b"}}
	if got, _ := k.Plan(in, seen); err != nil || !slices.Equal(got, want) {
		t.Errorf("drift: %+v, %v", got, err)
	}
	_, err = checker(t, "echo connecting; echo refused >&2; exit 1").Observe(t.Context(), in)
	unknown(t, err, "check exited with 1: connecting | refused")
}

func TestPlanIsUnknownUnlessItEndsWell(t *testing.T) {
	in, _ := input()
	for text, want := range map[string]string{
		`echo '{"id":"a","op":"-","text":"a"}'; echo gone >&2; exit 1`:   "plan exited with 1: gone",
		`echo '{"id":"a","op":"-","text":"a"}'; kill -9 $$`:              "died of a signal: killed",
		`printf '{"id":"a","op":"-","text":"a"}'`:                        "ends in the middle of a line",
		`echo '{"id":"a","op":"-","text":"a","x":1}'`:                    "unknown field",
		`head -c 9000000 /dev/zero`:                                      "more than 8 MiB",
		`cat /dev/zero`:                                                  "more than 8 MiB",
		`echo '{"id":"a","op":"-","text":"a"}'; sqlite3 /no/db 'select'`: "plan exited with",
	} {
		k := New(settings(t, fmt.Sprintf("{plan: [%s], apply: ['true']}", script(t, text))))
		seen, err := k.Observe(t.Context(), in)
		unknown(t, err, want)
		if len(seen.Changes) > 0 {
			t.Errorf("%s: %+v", text, seen)
		}
	}
	k := New(settings(t, "{plan: ['true'], apply: ['true']}"))
	if seen, err := k.Observe(t.Context(), in); err != nil || len(seen.Changes) > 0 {
		t.Errorf("a plan without lines is a target in sync: %+v, %v", seen, err)
	}
}

// Apply gets one change, and what it prints beside the plan is no part of the plan.
func TestApplyGetsTheChange(t *testing.T) {
	dir := t.TempDir()
	in, log := input()
	k := New(settings(t, fmt.Sprintf(`
plan:
  shell: |
    echo 'comparing' >&2
    echo '{"id":"user:ada","op":"+","text":"user ada","data":"{\"uid\":7}","once":true}'
apply: {shell: 'cat >change; echo "$TRUEUP_CHANGE" >id; echo made'}
dir: %s
`, dir)))
	seen, err := k.Observe(t.Context(), in)
	if err != nil || len(seen.Changes) != 1 {
		t.Fatalf("got %+v, %v", seen, err)
	}
	ada := seen.Changes[0]
	if err := k.Apply(t.Context(), in, seen, ada); err != nil {
		t.Fatal(err)
	}
	var got reconcile.Change
	text := readFile(t, filepath.Join(dir, "change"))
	if err := json.Unmarshal([]byte(text), &got); err != nil || got != ada || !strings.HasSuffix(text, "\n") {
		t.Errorf("apply read %q, %v", text, err)
	}
	if id := readFile(t, filepath.Join(dir, "id")); id != "user:ada\n" {
		t.Errorf("TRUEUP_CHANGE was %q", id)
	}
	if log.text["plan"] != "comparing\n" || log.text["apply user:ada"] != "made\n" {
		t.Errorf("logged %q", log.text)
	}
	for due, happened := range map[bool]bool{true: false, false: true} {
		now := Seen{}
		if due {
			now = seen
		}
		if got, err := k.Happened(t.Context(), in, now, ada); got != happened || err != nil {
			t.Errorf("plan still asks for it: %v; happened: %v, %v", due, got, err)
		}
	}
	dark := Seen{Changes: reconcile.Plan{{ID: ada.ID, Op: reconcile.Unknown, Text: "accounts"}}}
	if _, err := k.Happened(t.Context(), in, dark, ada); err == nil {
		t.Error("what could not be read tells that nothing has happened")
	}
}

// A change larger than a pipe's buffer does not hang on an apply that never reads it.
func TestApplyNeedNotRead(t *testing.T) {
	in, _ := input()
	k := New(settings(t, "{plan: ['true'], apply: ['true']}"))
	c := reconcile.Change{ID: "a", Op: reconcile.Update, Text: "a", Data: strings.Repeat("x", 200_000)}
	if err := k.Apply(t.Context(), in, Seen{}, c); err != nil {
		t.Error(err)
	}
}

func TestApplyThatFails(t *testing.T) {
	in, log := input()
	k := New(settings(t, "{plan: ['true'], apply: {shell: 'echo one; echo disk full >&2; exit 75'}}"))
	err := k.Apply(t.Context(), in, Seen{}, reconcile.Change{ID: "a"})
	if err == nil || err.Error() != "apply exited with 75: one | disk full" || log.text["apply a"] != "one\ndisk full\n" {
		t.Errorf("got %v, logged %q", err, log.text)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("TRUEUP_SECRET_OF_OURS", "x")
	t.Setenv("NOTIFY_SOCKET", "/run/systemd/notify")
	t.Setenv("PGPASSWORD", "of the ledger")
	t.Setenv("KEPT", "as it is")
	t.Setenv("CHANGED", "before")
	in, log := input()
	in.Policy = policy.Document{Data: []byte("accounts: [ada]\n"), Digest: "d1ge57"}
	k := New(settings(t, `
check:
  shell: |
    env
    cat "$TRUEUP_POLICY"
    stat -c 'mode %a of %u' "$TRUEUP_POLICY"
    stat -c 'folder %a' "$(dirname "$TRUEUP_POLICY")"
    cat
    pwd
apply: ['true']
env: {CHANGED: after, TOKEN_FILE: a b}
dir: /usr
`))
	if _, err := k.Observe(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(log.text["check"], "\n")
	for _, want := range []string{"TRUEUP_TARGET=command:web", "TRUEUP_RUN=r-abcde", "TRUEUP_FENCE=812", "TRUEUP_POLICY_DIGEST=d1ge57",
		"accounts: [ada]", fmt.Sprintf("mode 600 of %d", os.Getuid()), "folder 700", "KEPT=as it is", "CHANGED=after", "TOKEN_FILE=a b", "/usr"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, line := range got {
		for _, no := range []string{"NOTIFY_SOCKET", "PGPASSWORD", "TRUEUP_SECRET", "TRUEUP_CHANGE"} {
			if strings.HasPrefix(line, no) {
				t.Errorf("the command sees %s", line)
			}
		}
		if path, is := strings.CutPrefix(line, "TRUEUP_POLICY="); is {
			if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
				t.Errorf("the policy's folder is left: %v", err)
			}
		}
	}
}

func TestSecretsStayOutOfRecords(t *testing.T) {
	credentials := t.TempDir()
	key := "-----BEGIN KEY-----\nAAAAB3NzaC1yc2E\n-----END KEY-----\n"
	if err := os.WriteFile(filepath.Join(credentials, "key"), []byte(key), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	t.Setenv("DB_PASSWORD", "correct horse")
	in, log := input()
	k := New(settings(t, `{check: {shell: 'cat "$CREDENTIALS_DIRECTORY/key"; echo "psql: $DB_PASSWORD" >&2; exit 1'}, apply: ['true'], redact: [DB_PASSWORD]}`))
	_, err := k.Observe(t.Context(), in)
	unknown(t, err, "psql: [redacted]")
	for what, text := range map[string]string{"log": log.text["check"], "error": err.Error()} {
		if strings.Contains(text, "horse") || strings.Contains(text, "AAAA") {
			t.Errorf("the %s tells: %s", what, text)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "/no/where")
	_, err = k.Observe(t.Context(), in)
	unknown(t, err, "reading the credentials, to keep them out of the records")
}
