package forgejo

import (
	"strings"
	"testing"

	"trueup/reconcile/forgejo/fake"
)

// A dump wants nothing, a change of it wants just that, and once done nothing is wanted again.
func TestDump(t *testing.T) {
	server := stand(t)
	server.AddUser("no", "no@example.org").FullName = "yes: [no]"
	server.AddTeam("acme", "ops", "admin", "bob")
	tick(t, server, wanted)
	tick(t, server, "repositories: [{name: acme/copy, import: {url: 'https://git.example.net/x.git', mirror: true, interval: 8h0m0s}, state: archived}]\n")
	kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input("users: []\n")
	dumped, err := kind.Dump(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	document, before := string(dumped), server.Writes()
	o, err := outlook(t, server, document)
	if err != nil || len(o.Plan) > 0 {
		t.Fatalf("a plan against the dump: %s, %v\n%s", lines(o.Plan), err, document)
	}
	for _, part := range []string{"login: \"no\"", "ada@work", "mirror: true", "state: archived", "permission: admin", "repo.code: read"} {
		if !strings.Contains(document, part) {
			t.Errorf("the dump lacks %q:\n%s", part, document)
		}
	}
	changed := strings.Replace(document, "description: what we make", "description: what we sell", 1)
	if o, err = outlook(t, server, changed); err != nil || lines(o.Plan) != "~ organisation acme (description: \"what we make\" → \"what we sell\")\n" {
		t.Fatalf("a change wants %s, %v", lines(o.Plan), err)
	}
	if failed := tick(t, server, changed); len(failed) > 0 || server.Writes() != before+1 {
		t.Errorf("failed: %v, with %d writes", failed, server.Writes()-before)
	}
	if o, err = outlook(t, server, changed); err != nil || len(o.Plan) > 0 {
		t.Errorf("done, it wants %s, %v", lines(o.Plan), err)
	}
	server.Dark(true)
	if dumped, err := kind.Dump(t.Context(), in); err == nil {
		t.Errorf("a server that cannot be read was dumped as %s", dumped)
	}
}
