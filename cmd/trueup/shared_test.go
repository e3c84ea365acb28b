package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/reconcile/postgres/pgtest"
)

// TestShared plays the stories of a ledger that is a database, each on a schema of its own.
func TestShared(t *testing.T) {
	p := scripts("testdata/shared")
	own := p.Setup
	p.Setup = func(env *testscript.Env) error {
		address := pgtest.URL(t)
		forSed := strings.NewReplacer("&", `\&`)
		env.Setenv("LEDGER", address)
		env.Setenv("SED_LEDGER", forSed.Replace(address))
		env.Setenv("SED_TCP", forSed.Replace(pgtest.Shared(t).TCP(pgtest.Schema(address))))
		return own(env)
	}
	testscript.Run(t, p)
}
