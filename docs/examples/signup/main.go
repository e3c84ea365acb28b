// Command signup is a small web app that gives people an account on the host it runs on, and cannot touch the host: it keeps a
// list in a file, touches, and reads what became of it. README.md says how it is put into a container.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	trueup "trueup/docs/examples/web" // in a project of your own: a copy of its one file
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, env("SIGNUP_LISTEN", ":8080"), env("SIGNUP_FILE", "/data/accounts.json")); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// serve answers until ctx ends.
func serve(ctx context.Context, address, file string) error {
	book, err := openBook(file)
	if err != nil {
		return err
	}
	s := newSite(book, trueup.FromEnv())
	if all := book.all(); len(all) > 0 {
		// What was on file before may have been asked for or not; one more request covers all of it.
		s.ask(all...)
	}
	server := &http.Server{Addr: address, Handler: s.handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(grace)
	}()
	log.Printf("listening on %s", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
