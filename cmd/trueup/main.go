// Command trueup gives a oneshot service a prompt, safe trigger, is such a service itself, and says how it is doing. Each
// verb has a file of its own; site.go wires the reconciler together; ui.go is the voice that they share.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"trueup/reconcile"
)

// version is set by the linker.
var version = "devel"

func main() {
	os.Exit(run(untilTold(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	u := newUI(stdout, stderr)
	root := newRoot(u)
	root.SetArgs(args)
	return u.exit(ctx, root.ExecuteContext(ctx))
}

// told is why a context ends: a signal asked the program to stop. That is a cancellation, for whoever asks.
type told struct{ syscall.Signal }

func (t told) Error() string      { return t.String() }
func (told) Is(target error) bool { return target == context.Canceled }

// untilTold is a context that ends when the program is told to stop, and its Grace when it is told again. A third signal
// kills it.
func untilTold() context.Context {
	grace, hurry := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancelCause(reconcile.WithGrace(context.Background(), grace))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // who stops reading what is printed does not end what is being done
	go func() {
		s, _ := (<-signals).(syscall.Signal)
		cancel(told{s})
		onceMore(signals)
		hurry()
		time.AfterFunc(notAgain, func() { signal.Stop(signals) })
	}()
	return ctx
}

// notAgain is how long a signal that comes again is the same one: a keystroke may come twice, through a shell or make.
const notAgain = time.Second

// onceMore waits for another signal.
func onceMore(signals <-chan os.Signal) {
	<-time.After(notAgain)
	select {
	case <-signals:
	default:
	}
	<-signals
}
