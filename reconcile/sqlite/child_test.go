package sqlite

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestMain is also the other process of tests that need one: it plays the role that it finds in its environment, takes
// orders on its standard input, a line each, and answers each with a line.
func TestMain(m *testing.M) {
	role := os.Getenv("TRUEUP_TEST_ROLE")
	if role == "" {
		if err := flag.Set("rapid.checks", fmt.Sprint(rounds(12, 300))); err != nil { // the command line is read later
			panic(err)
		}
		os.Exit(m.Run())
	}
	if err := play(context.Background(), role, os.Getenv("TRUEUP_TEST_LEDGER")); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

var roles = map[string]func(ctx context.Context, s *Store, order string) (answer string, err error){
	"holder": holder, "claimant": claimant, "writer": writes, "reader": reads, "worker": worker, "upkeep": upkeep,
}

func play(ctx context.Context, role, path string) error {
	s, err := Open(ctx, path, Options{Holder: "another process", ReadOnly: role == "reader"})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		answer, err := roles[role](ctx, s, orders.Text())
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return s.Close()
}

// holder takes a lease, checks it, or starts a child that outlives it.
func holder(ctx context.Context, s *Store, order string) (string, error) {
	verb, argument, _ := strings.Cut(order, " ")
	switch verb {
	case "take":
		answers, err := s.Grant(ctx, []reconcile.Bid{{Target: reconcile.Key(argument)}}, 15*time.Minute)
		if err != nil || answers[0].Refused != nil {
			return "", fmt.Errorf("%v, %v", answers, err)
		}
		l := answers[0].Lease
		err = s.Commit(ctx, reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}}}}})
		return fmt.Sprintf("%d %s", l.Fence, l.Run), err
	case "check":
		var f reconcile.Fence
		if _, err := fmt.Sscan(argument, &f); err != nil {
			return "", err
		}
		return fmt.Sprint(s.Check(ctx, f)), nil
	}
	stray := exec.Command("sleep", "600")
	err := stray.Start()
	return fmt.Sprint(stray.Process.Pid), err
}

// claimant bids for a scope once.
func claimant(ctx context.Context, s *Store, scope string) (string, error) {
	target := reconcile.Key(fmt.Sprintf("test:%d", os.Getpid()))
	answers, err := s.Grant(ctx, []reconcile.Bid{{Target: target, Scopes: []reconcile.Scope{reconcile.Scope(target), reconcile.Scope(scope)}}}, time.Minute)
	if err != nil {
		return "", err
	}
	if answers[0].Refused != nil {
		return "lost", nil
	}
	_, err = s.Settle(ctx, []reconcile.Settlement{{Lease: answers[0].Lease, Records: []reconcile.Write{{Family: "gate", Key: scope, Value: []byte(target)}}}})
	return "won", err
}

// writes appends to a run of its own until the order is done: as many events, one transaction each, telling each.
func writes(ctx context.Context, s *Store, order string) (string, error) {
	var n int
	if _, err := fmt.Sscan(order, &n); err != nil {
		return "", err
	}
	target := reconcile.Key(fmt.Sprintf("test:%d", os.Getpid()))
	answers, err := s.Grant(ctx, []reconcile.Bid{{Target: target}}, time.Minute)
	if err != nil {
		return "", err
	}
	l := answers[0].Lease
	fact := reconcile.Fact(reconcile.Leased{Lease: l})
	for i := range n {
		a := reconcile.Append{Run: l.Run, Expected: i, Facts: []reconcile.Fact{fact}}
		if err := s.Commit(ctx, reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{a}}); err != nil {
			return "", err
		}
		fmt.Println(l.Run, i+1)
		fact = reconcile.Intended{Change: fmt.Sprint(i)}
	}
	return "done", nil
}

// reads lists what a reader sees.
func reads(ctx context.Context, s *Store, _ string) (string, error) {
	standings, err := s.Standings(ctx)
	return fmt.Sprint(len(standings)), err
}

// A child is another process under the test's orders.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

// start begins a child, as another user if one is given, and waits until it has opened the ledger.
func start(t *testing.T, role, path string, as ...uint32) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TRUEUP_TEST_ROLE="+role, "TRUEUP_TEST_LEDGER="+path)
	if len(as) > 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as[0], Gid: as[0]}}
	}
	orders, err1 := cmd.StdinPipe()
	answers, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, orders: orders, answers: bufio.NewScanner(answers)}
	t.Cleanup(func() { c.kill() })
	if got := c.answer(); got != "ready" {
		t.Fatalf("the %s says %s", role, got)
	}
	return c
}

func (c *child) order(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.orders, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// answer is the next line; empty once the child has ended.
func (c *child) answer() string {
	c.answers.Scan()
	return c.answers.Text()
}

func (c *child) ask(format string, args ...any) string {
	c.t.Helper()
	c.order(format, args...)
	return c.answer()
}

// take lets a holder lease a target.
func (c *child) take(target string) (fence reconcile.Fence, run reconcile.RunID) {
	c.t.Helper()
	line := c.ask("take %s", target)
	if _, err := fmt.Sscan(line, &fence, &run); err != nil {
		c.t.Fatalf("taking %s: %s", target, line)
	}
	return fence, run
}

// kill ends the child as the kernel does when memory runs out, and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// number asks for one.
func (c *child) number(order string) (n int) {
	c.t.Helper()
	line := c.ask("%s", order)
	if _, err := fmt.Sscan(line, &n); err != nil {
		c.t.Fatalf("%s: %s", order, line)
	}
	return n
}
