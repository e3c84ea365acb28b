package reconcile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// A panic that goes on is one failure, told once: the stack, which differs each time, is kept with what was printed.
func TestPanicIsToldOnce(t *testing.T) {
	s := newStage(t, "a")
	depth := 0
	var down func(int) (reconcile.Report, error)
	down = func(n int) (reconcile.Report, error) {
		if n == 0 {
			panic("nil map")
		}
		return down(n - 1)
	}
	s.plays("a", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		depth++
		return down(depth)
	})
	first := s.sweep(s.claim()).Reports["command:a"]
	again := s.sweep(s.claim()).Reports["command:a"]
	if first.Own == "" || again.Own != "" || strings.Contains(first.Note, "\n") {
		t.Errorf("the panic is told by %+v, and then by %+v", first, again)
	}
	logs, err := s.store.Logs(t.Context(), first.Own)
	if err != nil || len(logs) != 1 || logs[0].Stream != "panic" || !strings.Contains(logs[0].Text, "tick_test.go") {
		t.Errorf("the run keeps %+v, %v", logs, err)
	}
}

// What a timeout ends says so, and what it does not ends as it does.
func TestBounded(t *testing.T) {
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	err := reconcile.Target{Timeout: time.Millisecond}.Bounded(t.Context(), hangs)
	if err == nil || !strings.Contains(err.Error(), "not done within its timeout of 1ms") {
		t.Errorf("ended as %v", err)
	}
	if err := (reconcile.Target{}).Bounded(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}
