package runbook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/units/nspawn"
)

const (
	soon     = time.Minute     // enough for anything that takes a moment, also on a busy host
	patience = 2 * time.Minute // bounds a command
)

// A stage is where one part of a page is played. Without a machine it is a rehearsal: nothing is run, and only the page is
// walked through.
type stage struct {
	t        *testing.T
	m        *nspawn.Machine
	page     string
	part     part
	mentions map[string]bool   // what was run of what the page mentions
	words    map[string]string // what the words in capitals stand for
	user     string            // who types
	logged   bool              // logind has to know what types, so it is in a unit of its own
	next     int               // of the part's commands
	built    string            // where the programs are
	deb      string            // the package
}

// run has the page's next command run, which begins so, and wants it to succeed and to print what the page shows.
func (s *stage) run(begins string) string { s.t.Helper(); return s.exits(0, begins) }

// exits is run of a command that ends with that code.
func (s *stage) exits(code int, begins string) string {
	s.t.Helper()
	c := s.take(begins)
	if s.m == nil {
		return ""
	}
	out, got := s.try(s.m.As(s.user), c.text)
	if why := s.differs(c, out, code, got); why != "" {
		s.t.Fatal(why)
	}
	return out
}

// sees is exits of a command that only looks: somebody looks again, until it is as the page shows it.
func (s *stage) sees(code int, begins string) (out string) {
	s.t.Helper()
	c := s.take(begins)
	if s.m == nil {
		return ""
	}
	why := ""
	ctx, cancel := context.WithTimeout(s.t.Context(), soon)
	defer cancel()
	if nspawn.Poll(ctx, func() bool {
		var got int
		out, got = s.try(s.m.As(s.user), c.text)
		why = s.differs(c, out, code, got)
		return why == ""
	}) != nil {
		s.t.Fatal(why)
	}
	return out
}

// differs says how a command that was run is not as it should be, if it is not.
func (s *stage) differs(c command, out string, code, got int) string {
	var shows []string
	for _, line := range c.shows {
		shows = append(shows, s.fill(line))
	}
	switch {
	case got != code:
		return fmt.Sprintf("$ %s\nends with %d, not %d:\n%s", c.text, got, code, out)
	case shows != nil && !pattern(shows).MatchString(out):
		return fmt.Sprintf("$ %s\nprints\n%s\nand the page shows\n%s", c.text, out, strings.Join(shows, "\n"))
	}
	return ""
}

// mention runs a command that the page only mentions in its text.
func (s *stage) mention(code int, text string) string {
	s.t.Helper()
	if !slices.Contains(spans(s.t, s.page), text) {
		s.t.Fatalf("%s does not mention %q", s.page, text)
	}
	s.mentions[text] = true
	if s.m == nil {
		return ""
	}
	text = s.fill(text)
	out, got := s.try(s.m.As(s.user), text)
	if got != code {
		s.t.Fatalf("$ %s\nends with %d, not %d:\n%s", text, got, code, out)
	}
	return out
}

// pass passes the page's next command over, since it cannot be run here.
func (s *stage) pass(begins, why string) {
	s.t.Helper()
	if c := s.take(begins); s.m != nil {
		s.t.Logf("not run, %s: %s", why, c.text)
	}
}

// take takes the page's next command.
func (s *stage) take(begins string) command {
	s.t.Helper()
	if s.next == len(s.part.commands) {
		s.t.Fatalf("%q is to be run, and the page has no more commands", begins)
	}
	c := s.part.commands[s.next]
	if !strings.HasPrefix(c.text, begins) {
		s.t.Fatalf("the page's next command is\n\t%s\nand what is played is %q", c.text, begins)
	}
	s.next++
	c.text = s.fill(c.text)
	return c
}

// capitals is a name in capitals; TRUEUP_RUN is one, and not that of a run.
var capitals = regexp.MustCompile(`[A-Z_]+`)

// fill replaces the words in capitals.
func (s *stage) fill(text string) string {
	return capitals.ReplaceAllStringFunc(text, func(found string) string {
		word := strings.Trim(found, "_")
		if value, ok := s.words[word]; ok {
			return strings.Replace(found, word, value, 1)
		}
		return found
	})
}

// try runs a script as somebody types it, in a folder with the sources' examples, and returns all that it prints.
func (s *stage) try(who nspawn.Session, script string) (out string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	const shell = "exec 2>&1; cd " + sources + " 2>/dev/null || cd; sudo() { \"$@\"; }; set -u\n"
	argv := []string{"bash", "-c", shell + script}
	if s.logged {
		argv = append([]string{"systemd-run", "--quiet", "--wait", "--pipe", "--collect"}, argv...)
	}
	text, err := who.With("DEBIAN_FRONTEND=noninteractive").Exec(ctx, argv...)
	return text, s.code(script, text, err)
}

// code is the exit code of a command that could be run.
func (s *stage) code(script, out string, err error) int {
	s.t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	s.t.Fatalf("running %s: %v\n%s", script, err, out)
	return 0
}

// sh makes something so, as root.
func (s *stage) sh(script string) string { s.t.Helper(); return s.as("root", script) }

// as makes something so as somebody.
func (s *stage) as(user, script string) string {
	s.t.Helper()
	if s.m == nil {
		return ""
	}
	out, code := s.try(s.m.As(user), "set -e\n"+s.fill(script))
	if code != 0 {
		s.t.Fatalf("%s\nends with %d:\n%s", script, code, out)
	}
	return strings.TrimSpace(out)
}

// until waits until a script succeeds, as root.
func (s *stage) until(what, script string) {
	s.t.Helper()
	if s.m == nil {
		return
	}
	last := ""
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%s said\n%s", script, last)
		}
	}()
	nspawn.Eventually(s.t, soon, what, func() bool {
		out, code := s.try(s.m.As("root"), s.fill(script))
		last = out
		return code == 0
	})
}

// write writes a file in the machine.
func (s *stage) write(name, text string) {
	s.t.Helper()
	if s.m != nil {
		s.m.WriteFile(s.t, s.fill(name), s.fill(text), 0o644)
	}
}

// says wants words in what a command printed.
func (s *stage) says(out string, words ...string) {
	s.t.Helper()
	for _, word := range words {
		if s.m != nil && !strings.Contains(out, s.fill(word)) {
			s.t.Errorf("it does not say %q:\n%s", s.fill(word), out)
		}
	}
}

// let has a word in capitals stand for something.
func (s *stage) let(word, value string) { s.words[word] = value }

// host has the page's next command run on this host, with more in its environment.
func (s *stage) host(begins string, env ...string) {
	s.t.Helper()
	c := s.take(begins)
	if s.m == nil {
		return
	}
	cmd := exec.CommandContext(s.t.Context(), "bash", "-c", "sudo() { \"$@\"; }; set -uo pipefail\n"+c.text)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if code := s.code(c.text, string(out), err); code != 0 {
		s.t.Fatalf("$ %s\nends with %d:\n%s", c.text, code, out)
	}
}

// container has the page's next command run in a small container: this host's programs, the spool and the outbox mounted,
// and a process of the group web.
func (s *stage) container(begins, folders string, more ...string) string {
	s.t.Helper()
	c := s.take(begins)
	if s.m == nil {
		return ""
	}
	root := s.t.TempDir()
	cmd := exec.CommandContext(s.t.Context(), "unshare", "-m", "bash", "-euc", fmt.Sprintf(`
		cd %[1]s; mkdir usr tmp app dev proc spool outbox; chmod 755 .; cp %[3]s app
		for d in bin lib lib64; do [ ! -L /$d ] || ln -s "$(readlink /$d)" $d; done
		mount --bind /usr usr; mount --bind /dev dev; mount --bind %[2]s/spool spool; mount --bind -o ro %[2]s/outbox outbox
		exec chroot --userspec=3000:2000 --groups= . env -i PATH=/usr/bin:/app "${@:2}" bash -euo pipefail -c "$1"`,
		root, s.m.Path(folders), filepath.Join(s.built, "trueup")), "-", c.text)
	cmd.Args = append(cmd.Args, more...)
	out, err := cmd.CombinedOutput()
	if code := s.code(c.text, string(out), err); code != 0 {
		s.t.Fatalf("in a container: %s\nends with %d:\n%s", c.text, code, out)
	}
	return string(out)
}
