package trueup_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	trueup "trueup/docs/examples/web"
)

// An adapter is one language's file, and the program that speaks the tests' protocol for it: VERB SPOOL OUTBOX ARGS on a line
// in, "ok VALUE" or "error MESSAGE" on a line out, the fields of a line parted by tabs. "-" as the spool leaves the folders to the
// environment.
type adapter struct {
	name    string
	needs   string   // Debian's package of its runtime
	command []string // nil for Go, whose driver is this test's own binary
	waits   bool     // it has a wait
}

var adapters = []adapter{
	{"Go", "", nil, true},
	{"Node", "nodejs", []string{"node", "testdata/driver.mjs"}, true},
	{"Python", "python3", []string{"python3", "-B", "testdata/driver.py"}, true},
	{"PHP", "php-cli", []string{"php", "testdata/driver.php"}, false},
	{"shell", "jq", []string{"sh", "testdata/driver.sh"}, true},
}

const driverVariable = "TRUEUP_TEST_DRIVER"

func TestMain(m *testing.M) {
	if os.Getenv(driverVariable) == "" {
		os.Exit(m.Run())
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := drive(strings.Split(lines.Text(), "\t"))
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("ok", answer)
	}
}

// drive is the driver of the Go adapter.
func drive(line []string) (any, error) {
	host, args := trueup.Host{Spool: line[1], Outbox: line[2]}, line[3:]
	if host.Spool == "-" {
		host = trueup.FromEnv()
	}
	switch line[0] {
	case "request":
		return host.Request(args...)
	case "covered":
		return host.Covered(args[0], args[1:]...)
	case "state":
		return host.State(args[0], args[1:]...)
	}
	patience, err := time.ParseDuration(args[0] + "s")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := host.Wait(ctx, args[1], args[2:]...); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return ctx.Err() == nil, nil
}

// A driver is an adapter at work.
type driver struct {
	t  *testing.T
	in *os.File
	// answers is closed when the driver ends.
	answers chan string
}

func (a adapter) start(t *testing.T, env ...string) *driver {
	t.Helper()
	command := a.command
	if command == nil {
		command = []string{os.Args[0]}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Fatalf("the %s adapter runs on %s: install Debian's %s (.ci/deps unit does)", a.name, command[0], a.needs)
	}
	in, stdin, err := os.Pipe()
	check(t, err)
	c := exec.Command(path, command[1:]...)
	c.Env = append(append(os.Environ(), driverVariable+"=1"), env...)
	c.Stdin, c.Stderr = in, os.Stderr
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	in.Close()
	d := &driver{t, stdin, make(chan string)}
	go func() {
		defer close(d.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			d.answers <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		for range d.answers {
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the driver: %v", err)
		}
	})
	return d
}

// ask puts one question, about the host of these folders.
func (d *driver) ask(verb string, s *stage, args ...string) (value string, err error) {
	d.t.Helper()
	fields := append([]string{verb, s.spool, s.outbox}, args...)
	if _, err := fmt.Fprintln(d.in, strings.Join(fields, "\t")); err != nil {
		d.t.Fatalf("asking the driver: %v", err)
	}
	select {
	case line, open := <-d.answers:
		kind, value, _ := strings.Cut(line, " ")
		switch {
		case open && kind == "ok":
			return value, nil
		case open && kind == "error":
			return "", fmt.Errorf("%s", value)
		}
		d.t.Fatalf("%s %q: the driver answers %q", verb, args, line)
	case <-time.After(patience):
		d.t.Fatalf("%s %q: no answer", verb, args)
	}
	return "", nil
}

// get is ask where no error may come.
func (d *driver) get(verb string, s *stage, args ...string) string {
	d.t.Helper()
	value, err := d.ask(verb, s, args...)
	if err != nil {
		d.t.Fatalf("%s %q: %v", verb, args, err)
	}
	return value
}

// patience is for a machine on which everything else runs too.
const patience = time.Minute

// until looks again and again.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for late := time.After(patience); !is(); {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has tells whether an error says all that.
func has(err error, what ...string) bool {
	for _, part := range what {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}

// build makes the real trueup.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trueup")
	out, err := exec.Command("go", "build", "-trimpath", "-o", path, "trueup/cmd/trueup").CombinedOutput()
	if err != nil {
		t.Fatalf("building trueup: %v\n%s", err, out)
	}
	return path
}
