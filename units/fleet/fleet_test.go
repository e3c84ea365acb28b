package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile/postgres/pgtest"
	"trueup/reconcile/trigger"
)

const (
	hosts   = 3
	targets = 300
)

// listening lets the hosts reach the server by their own addresses.
var listening = []string{"listen_addresses=*"}

// program is trueup, as TestFleet has built it.
var program string

// TestFleet is three hosts, 300 targets and weather (D1): nothing is done twice or by a holder whose lease is over, no
// ticket is covered before its write is live, every ticket is covered in the end, and every run has an end.
func TestFleet(t *testing.T) {
	program = filepath.Join(t.TempDir(), "trueup")
	if out, err := exec.Command("go", "build", "-o", program, "trueup/cmd/trueup").CombinedOutput(); err != nil {
		t.Fatalf("building trueup: %v\n%s", err, out)
	}
	lasts, patience := time.Minute, 2*time.Minute
	if os.Getenv("TRUEUP_PROVE") == "1" {
		lasts, patience = 10*time.Minute, 5*time.Minute
	}
	seed, err := strconv.ParseUint(os.Getenv("TRUEUP_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("TRUEUP_SEED=%d repeats this weather", seed)

	server := pgtest.Start(t, listening...)
	var names []string
	for n := range targets {
		names = append(names, fmt.Sprintf("command:t%03d", n))
	}
	world := openOutside(t, names)
	f := &fleet{T: t, outside: world, names: names}
	for n := range hosts {
		f.hosts = append(f.hosts, f.host(n, server))
	}
	for _, h := range f.hosts {
		go h.supervise()
		t.Cleanup(h.end)
	}
	f.eventually(patience, "all is true at first", func() bool { return len(world.behind()) == 0 })

	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var apps sync.WaitGroup
	for i, h := range f.hosts {
		apps.Go(func() { f.app(ctx, h, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	w := weather{t: t, world: world, rnd: rand.New(rand.NewPCG(seed, hosts)), hosts: f.hosts, server: server, busy: map[*host]*sync.Mutex{}, done: map[string]int{}}
	for _, h := range f.hosts {
		w.busy[h] = &sync.Mutex{}
	}
	w.blow(ctx)
	apps.Wait()
	f.eventually(patience, "every ticket is covered", func() bool { return f.open() == 0 })
	if behind := world.behind(); len(behind) > 0 {
		t.Errorf("all tickets are covered, and %d targets are not as they are wanted: %v", len(behind), behind)
	}
	for _, h := range f.hosts {
		h.end()
	}
	f.books(server)
	t.Logf("%v; %d tickets, %d writes, %d refused as stale", w.done, f.asked, len(world.writes), world.stale)
}

// A fleet is the hosts and what their web apps wait for.
type fleet struct {
	*testing.T
	*outside
	hosts []*host
	names []string

	mu      sync.Mutex
	waiting map[*host][]wish
	asked   int
}

// A wish is a write that a web app has asked for, with its ticket.
type wish struct {
	target string
	number int
	ticket trigger.Ticket
	byName bool
}

// host makes one that is enrolled.
func (f *fleet) host(n int, server *pgtest.Server) *host {
	f.Helper()
	h := newHost(f.T, n)
	h.env = []string{"PGPASSWORD=trueup", "FLEET_HOST=" + h.name}
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nstate: postgres://trueup@%s:%d/trueup?sslmode=disable\ntrigger: {spool: %s, state: %s}\noutbox: %s\nlease: {ttl: %s}\ntargets:\n",
		h.gateway, server.Port(), h.folders.Spool, h.folders.State, h.folders.Outbox, leaseTTL)
	for _, name := range f.names {
		fmt.Fprintf(&b, "- {kind: command, name: %s, check: [%q, outside, %q, check], apply: [%q, outside, %q, apply]}\n",
			strings.TrimPrefix(name, "command:"), self(f.T), f.socket, self(f.T), f.socket)
	}
	if err := os.WriteFile(h.config, []byte(b.String()), 0o600); err != nil {
		f.Fatal(err)
	}
	h.trueup(f.T, "node", "enrol", "--node", h.name)
	return h
}

// self is this test's program, which is the targets' command too.
func self(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// app is the web app of a host: it commits, reads its ticket, touches; and looks after its tickets.
func (f *fleet) app(ctx context.Context, h *host, rnd *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(50+rnd.IntN(300)) * time.Millisecond):
		}
		w := wish{target: f.names[rnd.IntN(len(f.names))], byName: rnd.IntN(4) > 0}
		w.number = f.want(w.target)
		var requests []string
		if w.byName {
			requests = []string{w.target}
		}
		var err error
		if w.ticket, err = trigger.Request(h.folders, requests...); err != nil {
			f.Errorf("%s: asking for %s: %v", h.name, w.target, err)
			return
		}
		f.mu.Lock()
		if f.waiting == nil {
			f.waiting = map[*host][]wish{}
		}
		f.waiting[h] = append(f.waiting[h], w)
		f.asked++
		f.mu.Unlock()
		f.open()
	}
}

// open is how many tickets are not covered. One that is covered has to be live.
func (f *fleet) open() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h, wishes := range f.waiting {
		status, err := trigger.ReadStatus(h.folders.Outbox)
		if err != nil {
			f.Errorf("%s: %v", h.name, err)
			return len(wishes)
		}
		var left []wish
		for _, w := range wishes {
			covered := status.Covers(w.ticket) || w.byName && status.CoversTarget(w.target, w.ticket)
			if !covered {
				left = append(left, w)
			} else if live := f.has(w.target); live < w.number {
				f.Errorf("%s: ticket %s of %s is covered, and %d is live instead of %d", h.name, w.ticket, w.target, live, w.number)
			}
		}
		f.waiting[h] = left
		n += len(left)
	}
	return n
}

// books compares what the outside has seen with what the ledger tells.
func (f *fleet) books(server *pgtest.Server) {
	f.Helper()
	for _, fault := range f.faults {
		f.Error(fault)
	}
	conn, err := pgx.Connect(f.Context(), server.Address("public"))
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close(context.Background())
	known := map[uint64]string{}
	rows, _ := conn.Query(f.Context(), "select fence, target from runs")
	var fence int64
	var target string
	if _, err := pgx.ForEachRow(rows, []any{&fence, &target}, func() error { known[uint64(fence)] = target; return nil }); err != nil {
		f.Fatal(err)
	}
	for _, w := range f.writes {
		if known[w.fence] != w.target {
			f.Errorf("%s became %d under fence %d, and the ledger has no run of it", w.target, w.number, w.fence)
		}
	}
	var endless int
	err = conn.QueryRow(f.Context(), `select count(*) from runs where run not in (select run from leases)
		and run not in (select run from events where type in ('succeeded', 'failed', 'lease_expired'))`).Scan(&endless)
	if err != nil || endless > 0 {
		f.Errorf("%d runs have neither a lease nor an end, %v", endless, err)
	}
}

func (f *fleet) eventually(patience time.Duration, what string, holds func() bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(100 * time.Millisecond) {
		if f.Failed() || time.Now().After(deadline) {
			f.tell()
			f.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// tell logs what the hosts last said.
func (f *fleet) tell() {
	for _, h := range f.hosts {
		text, _ := os.ReadFile(h.log.Name())
		f.Logf("%s:\n%s", h.name, text[max(0, len(text)-4000):])
	}
}
