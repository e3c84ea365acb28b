package protocol

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// counterScript is the adopted service's program: counter FOLDER STATE copies the number in FOLDER. Files in FOLDER
// tell it what to do: "fail" to fail once, "broken" to fail while it stands, "slow" to take as many seconds,
// "stubborn" to ignore SIGTERM, "litter" to leave a child behind. It reads first and writes last, so that whatever
// changes in between must be copied by another run. The log has one line for a run's start, with the claim and what
// was settled then, and one for its end; what is told after the start is for the next run, but for fail and broken.
const counterScript = `#!/bin/bash
set -eu
cd "$1"
now() { read -r up _ </proc/uptime; }
slurp() { text=; [ ! -e "$1" ] || text=$(<"$1"); }
exec 9>>lock
now
flock -n 9 || { echo "overlap $up" >>runs; exit 1; }
slurp slow; slow=${text:-0}
[ ! -e stubborn ] || trap '' TERM
slurp "$2/claim"; claim=${text:-null}
slurp "$2/settled"; settled=${text:-null}
number=$(<number)
echo "begin $up {\"number\":$number,\"claim\":$claim,\"settled\":$settled}" >>runs
if [ -e litter ]; then sleep 1000 >/dev/null 2>&1 & fi
[ "$slow" = 0 ] || sleep "$slow"
now
[ ! -e broken ] || { echo "failed $up" >>runs; exit 1; }
[ ! -e fail ] || { rm -f fail; echo "failed $up" >>runs; exit 1; }
echo "$number" >.copy
mv -f .copy copy
now
echo "copied $up" >>runs
`

// An attempt is one run, as the counter logged it.
type attempt struct {
	Number  int              `json:"number"`
	Claim   *trigger.Claim   `json:"claim"`   // that it ran under; nil where none could be recorded
	Settled *trigger.Settled `json:"settled"` // at its start

	began  time.Duration // on the boot clock, to 10 ms
	ended  time.Duration // zero when it was killed
	failed bool
}

// good tells whether it copied its number.
func (a attempt) good() bool { return a.ended > 0 && !a.failed }

// attempts reads the counter's log. It fails the test when two runs overlapped (TRG-09) or a line is damaged.
func (h *host) attempts(t *testing.T) []attempt {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(h.dir, "runs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []attempt
	for line := range strings.Lines(string(log)) {
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		uptime, rest, _ := strings.Cut(rest, " ")
		at, err := time.ParseDuration(uptime + "s")
		if err != nil {
			t.Fatalf("the log of %s has the line %q", h.name, line)
		}
		switch word {
		case "begin":
			a := attempt{began: at}
			if err := json.Unmarshal([]byte(rest), &a); err != nil {
				t.Fatalf("the log of %s has the line %q: %v", h.name, line, err)
			}
			all = append(all, a)
		case "copied", "failed":
			all[len(all)-1].ended, all[len(all)-1].failed = at, word == "failed"
		default:
			t.Errorf("two runs of %s at once: %q", h.name, line)
		}
	}
	return all
}

// awaitAttempts waits until the log has n runs more than the given ones, and returns those.
func (h *host) awaitAttempts(t *testing.T, before, n int, within time.Duration) []attempt {
	t.Helper()
	h.eventually(t, within, fmt.Sprintf("run %d has begun", before+n), func() bool { return len(h.attempts(t)) >= before+n })
	return h.attempts(t)[before:]
}

// tell makes one of the counter's control files; an empty text removes it.
func (h *host) tell(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(h.dir, file)
	err := os.Remove(path)
	if os.IsNotExist(err) {
		err = nil
	}
	if err == nil && text != "" {
		err = os.WriteFile(path, []byte(text+"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// uptime is the boot clock, which containers share.
func uptime() time.Duration { return trigger.SystemClock{}.Now() }

// A workshop is where the programs are built, once for all tests.
type workshop struct {
	dir   string
	build func() error
}

var shop = newWorkshop()

func newWorkshop() *workshop {
	w := &workshop{}
	w.build = sync.OnceValue(func() error {
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", w.dir+"/", "trueup/cmd/trueup", "trueup/cmd/trueup-gate")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building trueup: %w\n%s", err, out)
		}
		return os.WriteFile(w.program("counter"), []byte(counterScript), 0o755)
	})
	return w
}

func (w *workshop) program(name string) string { return filepath.Join(w.dir, name) }

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "trueup-protocol-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shop.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
