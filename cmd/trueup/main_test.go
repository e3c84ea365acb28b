package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"trueup": main})
}

// TestScripts plays the stories of testdata/script with the real program.
func TestScripts(t *testing.T) { testscript.Run(t, scripts("testdata/script")) }

// scripts are the stories of a folder.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("TZ", "UTC")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return os.MkdirAll(filepath.Join(env.WorkDir, "bin"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until": untilWorks,
			"exit1": exits(exitNeeds), "exit64": exits(exitUsage), "exit74": exits(exitState), "exit75": exits(exitTimeout), "exit78": exits(exitConfig),
		},
	}
}

// exits is the scripts' way to look at a failure: "exitCODE ERROR HINT ARG…" runs trueup, which must fail so.
func exits(code int) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 3 {
			ts.Fatalf("usage: exit%d ERROR HINT ARG…", code)
		}
		err := ts.Exec("trueup", args[2:]...)
		exit, _ := errors.AsType[*exec.ExitError](err)
		if exit == nil || exit.ExitCode() != code {
			ts.Fatalf("trueup %q: %v, want exit status %d", args[2:], err, code)
		}
		said := ts.ReadFile("stderr")
		if !regexp.MustCompile(`(?m)^error: .*` + args[0]).MatchString(said) {
			ts.Fatalf("no error like %q", args[0])
		}
		if args[1] != "" && !regexp.MustCompile(`(?m)^`+args[1]).MatchString(said) {
			ts.Fatalf("no hint like %q", args[1])
		}
	}
}

// untilWorks is the scripts' way to wait: "until COMMAND ARG…" runs the command until it succeeds.
func untilWorks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until COMMAND [ARG…]")
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	for ts.Exec(args[0], args[1:]...) != nil {
		select {
		case <-again.C:
		case <-late:
			ts.Fatalf("waited in vain for %v", args)
		}
	}
}
