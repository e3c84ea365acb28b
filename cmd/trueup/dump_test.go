package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/reconcile/forgejo/fake"
)

// TestForgejo plays the stories of testdata/forgejo with the real program, over a server in memory.
func TestForgejo(t *testing.T) {
	server := fake.New(t)
	server.AddUser("ada", "ada@example.org")
	server.AddOrg("acme", "ada")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/forgejo",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("FORGEJO", server.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit1": exits(exitNeeds), "exit64": exits(exitUsage)},
	})
}
