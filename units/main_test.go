package units_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/units"
	"trueup/units/nspawn"
)

// soon is long enough for anything that takes a moment, also on a busy host.
const soon = 30 * time.Second

// programs is where TestMain builds what the tests copy into their machines.
var programs string

func TestMain(m *testing.M) {
	// The tests wait far more than they work, so more of them run at once than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	flag.Parse() // a -parallel that was given wins
	os.Exit(withPrograms(m))
}

func withPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trueup-units-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	build := exec.Command("go", "build", "-trimpath", "-o", dir, "../cmd/trueup", "../cmd/trueup-gate", "./testdata/drive")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // they run with older libraries
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the programs under test: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const (
	gate  = "/usr/local/bin/trueup-gate"
	drive = "/usr/local/bin/drive"
)

// each boots every version with the programs in it, and runs f for both managers at once.
func each(t *testing.T, f func(t *testing.T, h host)) {
	t.Parallel()
	nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
		m.CopyIn(t, filepath.Join(programs, "trueup-gate"), gate, 0o755)
		m.CopyIn(t, filepath.Join(programs, "drive"), drive, 0o755)
		for _, g := range m.Managers() {
			t.Run(g.String(), func(t *testing.T) {
				t.Parallel()
				f(t, host{g})
			})
		}
	})
}

// A host is one manager, and what its operator does.
type host struct{ *nspawn.Manager }

// answer is what testdata/drive prints.
type answer struct {
	Changes struct {
		Adoption units.Adoption
		Done     []struct{ Op, What string }
		Timers   []string
		OwnTimer bool
		Warnings []string
	}
	List              []units.Adoption
	Trigger           units.TriggerState
	Error, Kind, Hint string
}

// ops lists what was done, as "create FILE".
func (a answer) ops() []string {
	var out []string
	for _, c := range a.Changes.Done {
		out = append(out, c.Op+" "+c.What)
	}
	return out
}

func (h host) driveArgs(verb string, arg any) []string {
	text, err := json.Marshal(arg)
	if err != nil {
		panic(err) // the tests' own structs
	}
	argv := []string{drive}
	if h.IsUser() {
		argv = append(argv, "--user")
	}
	return append(argv, verb, string(text))
}

func (h host) drive(t *testing.T, verb string, arg any) answer {
	t.Helper()
	return parseAnswer(t, h.MustExec(t, h.driveArgs(verb, arg)...))
}

func parseAnswer(t *testing.T, text string) (a answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// adopt is drive adopt that must succeed.
func (h host) adopt(t *testing.T, a units.Adoption) answer {
	t.Helper()
	got := h.drive(t, "adopt", a)
	if got.Error != "" {
		t.Fatalf("adopting %s: %s (%s; %s)", a.Unit, got.Error, got.Kind, got.Hint)
	}
	return got
}

func (h host) unadopt(t *testing.T, unit string, purge bool) answer {
	t.Helper()
	got := h.drive(t, "unadopt", struct {
		Unit  string
		Purge bool
	}{unit, purge})
	if got.Error != "" {
		t.Fatalf("unadopting %s: %s (%s)", unit, got.Error, got.Kind)
	}
	return got
}

// unitFolders pictures every file, folder and link where this manager's administrator keeps units.
func (h host) unitFolders(t *testing.T) string {
	t.Helper()
	dir := "/etc/systemd"
	if h.IsUser() {
		dir = h.Home() + "/.config"
	}
	return h.Sh(t, fmt.Sprintf(`[ -e %[1]s ] || exit 0; cd %[1]s
		find . -printf '%%P %%y %%m %%u %%l\n' | sort; find . -type f | sort | xargs -r -d '\n' sha256sum`, dir))
}

// same fails the test when a picture has changed, with the lines that differ.
func (h host) same(t *testing.T, before string) {
	t.Helper()
	after := h.unitFolders(t)
	if after == before {
		return
	}
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			t.Errorf("the unit folders are not as they were: gone is   %s", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			t.Errorf("the unit folders are not as they were: new is    %s", line)
		}
	}
}

// state waits until the unit's ActiveState/SubState is as wanted.
func (h host) state(t *testing.T, unit, want string) {
	t.Helper()
	var got string
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if nspawn.Poll(ctx, func() bool {
		props := h.Show(t, unit, "ActiveState", "SubState")
		got = props["ActiveState"] + "/" + props["SubState"]
		return got == want
	}) != nil {
		t.Fatalf("%s is %s, want %s\n%s", unit, got, want, strings.Join(h.Messages(t, "-n", "30"), "\n"))
	}
}

func (h host) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(h.Machine().Path(file))
	if err != nil {
		return ""
	}
	return string(text)
}

func (h host) eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	nspawn.Eventually(t, soon, what, cond)
}

func (h host) touch(t *testing.T, a answer) {
	t.Helper()
	h.MustExec(t, "touch", a.Changes.Adoption.Folders.Spool+"/sentinel")
}
