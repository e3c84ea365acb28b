package fleet

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An outside is what the hosts keep true, and what the web apps want of it: a number for each target. As an API that knows
// of fences does, it refuses who comes with a lower one than it has seen for the target.
type outside struct {
	socket string

	mu     sync.Mutex
	wanted map[string]int
	live   map[string]int
	fences map[string]uint64 // the highest seen
	writes []write
	stale  int // refused
	atWork []*work
	still  map[string]uint64 // by host: the highest fence there was when it was last made to stand still
	faults []string
}

// A work is a command that runs: its connection is open.
type work struct {
	host, target string
	fence        uint64
}

// A write that was accepted.
type write struct {
	target string
	number int
	fence  uint64
}

// openOutside serves an outside with the given targets until the test ends. All of them are due.
func openOutside(t *testing.T, targets []string) *outside {
	t.Helper()
	o := &outside{socket: t.TempDir() + "/outside", wanted: map[string]int{}, live: map[string]int{}, fences: map[string]uint64{}, still: map[string]uint64{}}
	for _, target := range targets {
		o.wanted[target] = 1
	}
	l, err := net.Listen("unix", o.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go o.serve(conn)
		}
	}()
	return o
}

func (o *outside) serve(conn net.Conn) {
	defer conn.Close()
	var verb string
	w := &work{}
	if _, err := fmt.Fscanln(conn, &verb, &w.host, &w.target, &w.fence); err != nil {
		return
	}
	o.begins(w)
	<-time.After(time.Duration(rand.IntN(30)) * time.Millisecond) // what it does takes a while
	fmt.Fprintln(conn, o.answer(verb, w.target, w.fence))
	_, _ = conn.Read(make([]byte, 1)) // until its process has ended
	o.mu.Lock()
	defer o.mu.Unlock()
	o.atWork = slices.DeleteFunc(o.atWork, func(other *work) bool { return other == w })
}

// begins books a command. No two ticks may be at work on a target, but for one that has been made to stand still since it, or the
// sweep that was about to start it, got the lease.
func (o *outside) begins(w *work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, other := range o.atWork {
		if other.target == w.target && other.fence != w.fence && !o.stoodStill(other) && !o.stoodStill(w) {
			o.faults = append(o.faults, fmt.Sprintf("%s: %s is at work by fence %d, and %s begins by %d", w.target, other.host, other.fence, w.host, w.fence))
		}
	}
	o.atWork = append(o.atWork, w)
}

// standsStill excuses what a host has at work now.
func (o *outside) standsStill(host string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, fence := range o.fences {
		o.still[host] = max(o.still[host], fence+2*targets) // it may hold leases under which nothing has begun yet
	}
}

func (o *outside) stoodStill(w *work) bool { return w.fence <= o.still[w.host] }

func (o *outside) answer(verb, target string, fence uint64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if fence < o.fences[target] {
		o.stale++
		return "stale"
	}
	o.fences[target] = fence
	switch {
	case verb == "check" && o.live[target] == o.wanted[target]:
		return "true"
	case verb == "check":
		return "due"
	}
	for _, w := range o.writes {
		if w.target == target && w.number == o.wanted[target] {
			o.faults = append(o.faults, fmt.Sprintf("%s is %d by fence %d, and again by %d", target, w.number, w.fence, fence))
		}
	}
	o.live[target] = o.wanted[target]
	o.writes = append(o.writes, write{target, o.live[target], fence})
	return "true"
}

// want is a web app's committed write: the number that the target is to have.
func (o *outside) want(target string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted[target]++
	return o.wanted[target]
}

// has is the number that a target has.
func (o *outside) has(target string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live[target]
}

// behind are the targets that are not as they are wanted.
func (o *outside) behind() (targets []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for target, n := range o.wanted {
		if o.live[target] != n {
			targets = append(targets, target)
		}
	}
	return targets
}

// TestMain is also the command of the targets: fleet.test outside SOCKET check|apply.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "outside" {
		os.Exit(command(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func command(socket, verb string) int {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	fmt.Fprintln(conn, verb, os.Getenv("FLEET_HOST"), os.Getenv("TRUEUP_TARGET"), os.Getenv("TRUEUP_FENCE"))
	answer, err := bufio.NewReader(conn).ReadString('\n')
	switch strings.TrimSpace(answer) {
	case "true":
		return 0
	case "due":
		return 2
	}
	fmt.Fprintln(os.Stderr, answer, err)
	return 1
}
