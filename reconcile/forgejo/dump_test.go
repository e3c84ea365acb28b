package forgejo

import (
	"fmt"
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

// What people have written comes back as it is, and what no document can say is left out: it stops no dump, and a plan against it
// is empty all the same.
func TestDumpOfOddThings(t *testing.T) {
	server := stand(t)
	for i, text := range []string{"\n", "\na", "\n  a", "\ta\nb", "a\n b\n\n", "a\r\nb", "\u2028a", "\ufeffa", "\x01", "\x00", "<<", "~", " a #"} {
		server.AddUser(fmt.Sprint("odd", i), fmt.Sprintf("odd%d@example.org", i)).FullName = text
	}
	for i, address := range []string{`"a@b"@example.org`, "nobody", ""} {
		server.AddUser(fmt.Sprint("mail", i), address)
	}
	for i, source := range []string{"/srv/git/x.git", "git@example.net:x.git", "https://ada@example.net/x.git", "https://example.net/x.git"} {
		mirror := server.AddRepo("acme", fmt.Sprint("mirror", i), nil)
		mirror.Mirror, mirror.Original, mirror.Interval, mirror.Description = true, source, "8h0m0s", "\n"+source
	}
	dumped, err := New(settings(t, server.URL, fake.Token), "policy.yaml").Dump(t.Context(), input("users: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := outlook(t, server, string(dumped)); err != nil || len(o.Plan) > 0 {
		t.Errorf("a plan against the dump: %s, %v\n%s", lines(o.Plan), err, dumped)
	}
	if n := strings.Count(string(dumped), "url: "); n != 1 {
		t.Errorf("%d sources in\n%s", n, dumped)
	}
}
