package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// The outside is a folder: a file for each account, with the account's role in it.
const (
	folderPlan = `cd "$FOLDER/accounts" || exit 1
set -- *; echo "{\"size\":$#}"
wanted=' '
while read -r name role; do
    wanted="$wanted$name "
    if [ ! -e "$name" ]; then
        echo "{\"id\":\"make $name\",\"op\":\"+\",\"text\":\"account $name\",\"data\":\"$role\",\"once\":true}"
    elif read -r has <"$name" && [ "$has" != "$role" ]; then
        echo "{\"id\":\"role $name\",\"op\":\"~\",\"text\":\"$name is $role\",\"data\":\"$role\"}"
    fi
done <"$TRUEUP_POLICY"
for name; do
    case $wanted in *" $name "*) ;; *) echo "{\"id\":\"drop $name\",\"op\":\"-\",\"text\":\"account $name\"}" ;; esac
done
`
	folderApply = `echo "$TRUEUP_CHANGE" >>"$FOLDER/writes"
cd "$FOLDER/accounts" || exit 1
name=${TRUEUP_CHANGE#* }
while read -r login role; do # killed at any instant, it leaves the account as it was or as it is to be
    [ "$login" != "$name" ] || { echo "$role" >../new && mv ../new "$name"; exit; }
done <"$TRUEUP_POLICY"
rm "$name"
`
	folderWants = "ada admin\nbob member\ncy member\ndan member\neve member\n"
)

// always is a policy that is always there.
type always string

func (p always) Read(context.Context, policy.Source, policy.Moment) (policy.Document, error) {
	return policy.Document{Data: []byte(p), Digest: "d"}, nil
}

// folder is a world whose kind is this package's, over shell scripts.
func folder(t testing.TB, planner, applier string) kindtest.World[Seen] {
	dir := t.TempDir()
	accounts, away := filepath.Join(dir, "accounts"), filepath.Join(dir, "away")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(accounts, 0o755))
	for name, role := range map[string]string{"bob": "member", "cy": "member", "dan": "member", "eve": "member", "fay": "member"} {
		must(os.WriteFile(filepath.Join(accounts, name), []byte(role+"\n"), 0o644))
	}
	s := Settings{Plan: Command{Shell: planner}, Apply: Command{Shell: applier}, Env: map[string]string{"FOLDER": dir}}
	must(s.Validate())
	return kindtest.World[Seen]{
		Target:  reconcile.Target{Key: "command:accounts"},
		Kind:    func() plan.Kind[Seen] { return New(s) },
		Reader:  func() plan.Reader { return always(folderWants) },
		Options: plan.Options[Seen]{Policy: policy.Source{File: "/policy"}, Breaker: plan.DefaultBreaker(), Size: func(s Seen) int { return s.Size }},
		Writes: func() int {
			written, err := os.ReadFile(filepath.Join(dir, "writes"))
			if !os.IsNotExist(err) {
				must(err)
			}
			return strings.Count(string(written), "\n")
		},
		State: func() string {
			var lines []string
			entries, err := os.ReadDir(accounts)
			must(err)
			for _, e := range entries {
				role, err := os.ReadFile(filepath.Join(accounts, e.Name()))
				must(err)
				lines = append(lines, fmt.Sprintf("%s %s", e.Name(), role))
			}
			return strings.Join(lines, "")
		},
		Want: folderWants,
		Dark: func(dark bool) {
			if dark {
				must(os.Rename(accounts, away))
			} else {
				must(os.Rename(away, accounts))
			}
		},
	}
}

// TestSuite is what every kind must show, on scripts.
func TestSuite(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, func(t testing.TB) kindtest.World[Seen] { return folder(t, folderPlan, folderApply) })
}
