// Command trueup gives a oneshot service a prompt, safe trigger, and says how it is doing. Each verb has a file of
// its own; ui.go is the voice that they share.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Whoever asks again is not made to wait; the same keystroke may come twice, through a shell or make.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	u := newUI(stdout, stderr)
	root := newRoot(u)
	root.SetArgs(args)
	return u.exit(root.ExecuteContext(ctx))
}
