package main

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"trueup/units"
)

// TestSignals: a verb that was told to stop ends as a shell says it, by the signal that it was.
func TestSignals(t *testing.T) {
	outbox := t.TempDir()
	status := `{"version":1,"epoch":"EPOCHEPOCH","claims":7,"settled":7,"state":"idle"}`
	if err := os.WriteFile(outbox+"/status.json", []byte(status), 0o600); err != nil {
		t.Fatal(err)
	}
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(told{signal})
		if got := run(ctx, []string{"wait", "--outbox", outbox, "EPOCHEPOCH:7"}, io.Discard, io.Discard); got != want {
			t.Errorf("after %v: exit %d, want %d", signal, got, want)
		}
		if !stopping(ctx) {
			t.Errorf("after %v: a run that ends now would be called failed", signal)
		}
	}
}

func TestUntilTold(t *testing.T) {
	ctx := untilTold()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if by, _ := errors.AsType[told](context.Cause(ctx)); by.Signal != syscall.SIGTERM {
		t.Errorf("it was told by %v", context.Cause(ctx))
	}
}

func TestAdoptErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&units.UsageError{Reason: "a floor of 1ms"}, exitUsage},
		{&units.Refusal{Unit: "web.service", Reason: "it is Type=simple"}, exitUnadoptable},
		{&units.FolderError{Path: "/spool", Err: os.ErrPermission}, exitState},
		{os.ErrPermission, exitPermission},
	} {
		if got := newUI(io.Discard, io.Discard).exit(t.Context(), adoptError("adopting", c.err)); got != c.want {
			t.Errorf("%T: exit %d, want %d", c.err, got, c.want)
		}
	}
}

// TestStageWithoutWatch: a demo whose watch cannot be started clears up all the same.
func TestStageWithoutWatch(t *testing.T) {
	s, err := newStage(newUI(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.dir); err != nil { // where the watch was to be started
		t.Fatal(err)
	}
	if s.start() == nil {
		t.Fatal("the watch was started in a folder that is not there")
	}
	if err := s.clear(); err != nil {
		t.Error(err)
	}
}
