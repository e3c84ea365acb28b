package forgejo

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"trueup/reconcile/forgejo/fake"
)

const several = `
users: [{login: dan, email: dan@example.org, ssh_keys: ["` + key3 + `"]}]
orgs: [{name: labs, teams: [{name: crew, permission: read, members: [dan]}]}]
repositories: [{name: acme/tool, import: {url: "https://git.example.net/tool.git"}, state: archived}]
`

// littered is a server on which an import was begun long ago and failed.
func littered(server *fake.Server) *fake.Server {
	left := server.AddRepo("acme", "tool", nil)
	left.Empty, left.Original = true, "https://git.example.net/tool.git"
	return server
}

// A process that is killed before or after any of its calls since its first write, also between two writes of one change, leaves
// nothing that the next do not finish: nothing is there twice, and no leftover stays. With TRUEUP_PROVE the document is one that
// touches everything.
func TestKilledAtAnyCall(t *testing.T) {
	t.Parallel()
	document := several
	if os.Getenv("TRUEUP_PROVE") == "1" {
		document = strings.Replace(wanted, "tool.git\"}}", "tool.git\"}, state: archived}", 1)
	}
	whole := littered(stand(t))
	tick(t, whole, document)
	tick(t, whole, document)
	want, worlds := whole.State(), 0
	for nth := 1; ; nth++ {
		for _, done := range []bool{false, true} {
			server := littered(stand(t))
			if !killedAt(t, server, document, nth, done) {
				if worlds < 10 {
					t.Errorf("it was killed %d times only", worlds)
				}
				return
			}
			worlds++
			for range 2 {
				server.Age(abandoned) // an import that may be under way is waited for
				if failed := tick(t, server, document); len(failed) > 0 {
					t.Errorf("call %d, done: %v: %v", nth, done, failed)
				}
			}
			if got := server.State(); got != want {
				t.Errorf("killed at call %d, done: %v: it is\n%s\nand not\n%s", nth, done, got, want)
			}
		}
	}
}

// killedAt ticks, and ends the process at its nth call since the first write; it tells whether there was one.
func killedAt(t *testing.T, server *fake.Server, document string, nth int, done bool) (killed bool) {
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	calls := 0
	server.Meddle(func(r *http.Request) fake.Fault {
		if calls > 0 || r.Method != http.MethodGet {
			calls++
		}
		if calls == 0 || calls < nth {
			return fake.Fault{}
		}
		killed = true
		kill()
		return fake.Fault{Done: done && calls == nth, HangUp: true}
	})
	kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input(document)
	in.Guard = func(ctx context.Context) error { return context.Cause(ctx) }
	seen, err := kind.Observe(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	wants, _ := kind.Plan(in, seen)
	for _, c := range wants.Sorted() {
		if ctx.Err() == nil {
			_ = kind.Apply(ctx, in, seen, c) // what the dead were told is nobody's business
		}
	}
	server.Meddle(nil)
	return killed
}
