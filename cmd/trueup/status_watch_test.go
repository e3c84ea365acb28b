package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

// aTrigger makes the folders of a trigger that nobody runs, with something to look at.
func aTrigger(t *testing.T) (flags []string, publish func(status string)) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"spool", "state", "outbox"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--"+name, filepath.Join(dir, name))
	}
	publish = func(status string) {
		t.Helper()
		if err := os.WriteFile(dir+"/new", []byte(status), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"/new", dir+"/outbox/status.json"); err != nil {
			t.Fatal(err)
		}
	}
	publish(`{"version":1,"unit":"","epoch":"E","claims":1,"settled":1,"covered_until":"2026-11-29T12:00:00Z","state":"idle"}`)
	return append([]string{"status", "--watch"}, flags...), publish
}

// TestWatchOnTerminal: what changes shows by itself, the screen follows the window, and whichever way it ends the terminal is as it was.
func TestWatchOnTerminal(t *testing.T) {
	const leaves, shows = "\x1b[?1049l", "\x1b[?25h"
	for _, way := range []struct {
		name string
		end  func(*seat)
		code int
	}{
		{"q", func(s *seat) { s.press("q") }, 0},
		{"interrupt", func(s *seat) { s.press("\x03") }, 0},
		{"terminate", func(s *seat) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, exitSignal + int(syscall.SIGTERM)},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			args, publish := aTrigger(t)
			s := sit(t, nil, args...)
			before := s.modes()
			s.until(0, "stopped")
			s.until(0, "q quits")
			from := s.far()
			publish(`{"version":1,"unit":"","epoch":"E","claims":2,"settled":2,"covered_until":"2026-11-29T13:14:15Z","state":"failing"}`)
			s.until(from, "never succeeded")
			from = s.far()
			s.resize(60, 5)
			s.until(from, "by the arrows")
			from = s.far()
			way.end(s)
			if code := s.end(); code != way.code {
				t.Errorf("exit code %d, want %d", code, way.code)
			}
			s.until(from, leaves)
			s.until(from, shows)
			if after := s.modes(); after != before {
				t.Errorf("the terminal's modes were %+v and are %+v", before, after)
			}
		})
	}
}

// TestWatchPlainly: without colours there are none, and where nobody can look it is shown once.
func TestWatchPlainly(t *testing.T) {
	args, _ := aTrigger(t)
	s := sit(t, []string{"NO_COLOR=1"}, args...)
	s.until(0, "q quits")
	s.press("q")
	s.end()
	for _, colour := range []string{red, green, cyan, yellow, bold} {
		if strings.Contains(s.all(0), "\x1b["+colour+"m") {
			t.Errorf("a colour in %q", s.all(0))
		}
	}
	s = sit(t, []string{"TERM=dumb"}, args...)
	s.until(0, "shown once")
	if code := s.end(); code != 0 || strings.Contains(s.all(0), "\x1b") {
		t.Errorf("exit code %d, on a dumb terminal %q", code, s.all(0))
	}
	out, err := exec.Command("trueup", args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stopped: no trueup watch") || !strings.HasSuffix(string(out), "shown once: --watch wants a terminal\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestWatchLines: the countdown goes on between looks, a sweep shows how far it is, and a window too small says what it leaves out.
func TestWatchLines(t *testing.T) {
	t.Setenv("TZ", "UTC")
	look := func(spoil func(*facts)) *screen {
		f := well()
		spoil(&f)
		return &screen{plain: true, reports: []facts{f}, at: noon}
	}
	has := func(t *testing.T, s *screen, by time.Duration, want ...string) {
		t.Helper()
		text := strings.Join(s.lines(noon.Add(by)), "\n")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	waiting := look(func(f *facts) {
		f.shown.State, f.state.Settled.Finished = trigger.Waiting, before(10*time.Second)
		f.serve("activating", "start-pre", 5*time.Second)
	})
	has(t, waiting, 0, "██████░░░░░░░░░░░░░░ waiting 20 s of the floor", "floor clears in 20 s")
	has(t, waiting, 8*time.Second, "████████████░░░░░░░░ waiting 12 s of the floor", "12:00:08", "(20 s ago)")
	has(t, look(func(f *facts) { f.shown.State, f.state.Claim = trigger.Failing, claim(2, 15*time.Second) }), 15*time.Second,
		"██████████░░░░░░░░░░ waiting 30 s of the backoff", "run again within 30 s")
	sweeping := look(func(f *facts) {
		targets(f)
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 13*time.Second)
		f.site.leases = []reconcile.Lease{{Target: "command:site"}}
	})
	has(t, sweeping, 0, "███████████████░░░░░ 7 of 9 · command:site", "trigger  running")
	has(t, look(func(f *facts) { f.shown.State, f.state.Claim = trigger.Running, claim(1, 15*time.Second) }), 5*time.Second, "running for 20 s")
	narrow := look(func(f *facts) { f.systemd.Path.Active, f.systemd.Path.Result = "failed", "resources" })
	narrow.width, narrow.height = 20, 5
	if text := strings.Join(narrow.lines(noon), ""); !strings.Contains(text, "systemctl start --no-block web.service") {
		t.Errorf("in a narrow window the command is cut: %s", text)
	}
	for _, line := range narrow.lines(noon)[2:9] {
		if len(line) > narrow.width {
			t.Errorf("%q is wider than %d columns", line, narrow.width)
		}
	}
	noted := look(targets)
	noted.reports[0].site.standings[0].Report = reconcile.Report{State: reconcile.Failing, Note: strings.Repeat("long ", 30) + "and its cause"}
	noted.width = 80
	if text := strings.Join(noted.lines(noon), ""); !strings.Contains(text, "and its cause") {
		t.Errorf("a note is cut: %s", text)
	}
	for _, line := range noted.lines(noon) {
		if utf8.RuneCountInString(line) > noted.width {
			t.Errorf("%q is wider than %d columns", line, noted.width)
		}
	}
	sweeping.width, sweeping.height = 100, 6
	if view := sweeping.View(); !strings.Contains(view.Content, "lines more, by the arrows") || strings.Count(view.Content, "\n") != 5 {
		t.Errorf("a window of six lines shows\n%s", view.Content)
	}
	sweeping.key("pgdown")
	if view := sweeping.View(); strings.Contains(view.Content, "trueup status") {
		t.Errorf("a page further is still\n%s", view.Content)
	}
}
