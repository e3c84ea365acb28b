package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"trueup/reconcile"
	"trueup/reconcile/command"
	"trueup/reconcile/config"
)

// servicePath is where systemd has services look for programs.
const servicePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A missing is what a target's command needs and is not there.
type missing struct {
	target reconcile.Key
	key    string // of the configuration: policy, check, plan, apply, dir
	what   string
}

// missingPrograms looks for the programs and folders of all commands, policies' too. What a shell would start is the shell's
// to find.
func missingPrograms(targets []config.Target) (found []missing) {
	for _, t := range targets {
		if argv := t.Policy.Command; len(argv) > 0 && !findable(argv[0], "") {
			found = append(found, missing{t.Key(), "policy", argv[0]})
		}
		s, ok := t.Settings.(*command.Settings)
		if !ok {
			continue
		}
		if info, err := os.Stat(s.Dir); s.Dir != "" && (err != nil || !info.IsDir()) {
			found = append(found, missing{t.Key(), "dir", s.Dir})
			continue
		}
		for _, c := range []struct {
			key string
			command.Command
		}{{"check", s.Check}, {"plan", s.Plan}, {"apply", s.Apply}} {
			if len(c.Args) > 0 && !findable(c.Args[0], s.Dir) {
				found = append(found, missing{t.Key(), c.key, c.Args[0]})
			}
		}
	}
	return found
}

// findable tells whether a program can be started, from a folder and by the search path of a service or of this process.
func findable(program, dir string) bool {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return executable(program)
	}
	for _, place := range filepath.SplitList(servicePath) {
		if executable(filepath.Join(place, program)) {
			return true
		}
	}
	_, err := exec.LookPath(program)
	return err == nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// checkPrograms judges what the commands need.
func (l *ledgerFacts) checkPrograms(c *checks) {
	for _, m := range l.programs {
		what := "a program that is not there, or not executable"
		if m.key == "dir" {
			what = "a folder that is not there"
		}
		c.add(isWrong, "targets.programs", "ls -l "+quoted(m.what), "%s of %s names %s, %s", m.key, m.target, m.what, what)
	}
	if len(l.programs) == 0 {
		c.ok("targets.programs", "the programs of all commands are there")
	}
}
