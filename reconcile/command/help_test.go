package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// settings reads settings as the configuration does: strictly.
func settings(t *testing.T, text string) Settings {
	t.Helper()
	s, err := decode(text)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		t.Fatalf("reading settings: %v\n%s", err, text)
	}
	return s
}

func decode(text string) (s Settings, err error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	return s, d.Decode(&s)
}

// printed is what was logged, by stream.
type printed struct {
	mu   sync.Mutex
	text map[string]string
}

func (p *printed) log(stream, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text[stream] += text
}

func input() (plan.Input, *printed) {
	p := &printed{text: map[string]string{}}
	return plan.Input{
		Target: reconcile.Target{Key: "command:web"},
		Run:    "r-abcde",
		Fence:  812,
		Log:    p.log,
		Guard:  func(context.Context) error { return nil },
	}, p
}

// script writes an executable shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	executable(t, path, "#!/bin/sh\n"+text)
	return path
}

// executable writes an executable file. Nothing is started meanwhile: until it is another program, a child would have the
// file open for writing, and it could not be run.
func executable(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fifo makes a pipe with a name. A script says something by writing into it, and the test waits by reading it.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hear reads a fifo until its writers have closed it.
func hear(t *testing.T, fifo string) string {
	t.Helper()
	heard, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(heard))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unknown fails unless the error says that something could not be read, and why.
func unknown(t *testing.T, err error, why string) {
	t.Helper()
	if _, is := errors.AsType[*reconcile.UnknownError](err); !is || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want an UnknownError that says %q", err, why)
	}
}

// alive tells whether a process runs. One that is dead and not reaped does not.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}
