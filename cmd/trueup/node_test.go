package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/reconcile/postgres/pgtest"
)

// TestNodes plays the stories of hosts that share a ledger, each on a schema of its own: a host is a configuration with its
// own folders.
func TestNodes(t *testing.T) {
	p := scripts("testdata/nodes")
	own := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("LEDGER", strings.ReplaceAll(pgtest.URL(t), "&", `\&`)) // as sed takes it
		return own(env)
	}
	testscript.Run(t, p)
}
