package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/postgres"
	"trueup/reconcile/trigger"
)

func nodeListenVerb(u *ui) *cobra.Command {
	var w which
	c := &cobra.Command{
		Use:   "listen [flags]",
		Short: "hear at once what others ask of this host, until it is stopped",
		Long: `hear at once what is asked for on other hosts, until it is stopped

It touches this host's spool, so that the trigger starts a sweep for what is owed, not sooner than the floor
lets it. Without it that is done by the next sweep: nothing is lost while it does not run. It needs a connection
of its own, which a transaction pooler does not give. As a service it is Type=notify; docs/nodes.md has one.`,
		Example: "  trueup node listen",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := w.act(c.Context(), holderName("node listen"))
		if s != nil {
			defer s.close()
		}
		if err != nil {
			return err
		}
		l, is := s.ledger.(hearer)
		if !is {
			return fail(exitConfig, "hosts share one that is a database: state: postgres://…, see docs/nodes.md",
				"listening: the ledger %s is this host's alone, and tells nobody", s.Database())
		}
		err = l.Listen(c.Context(), s.listener(u))
		if stopping(c.Context()) {
			return nil // it was told to
		}
		if errors.Is(err, postgres.ErrUnheard) {
			return fail(exitConfig, "give it the server's own address in a configuration of its own (-c), or do without: sweeps find what is owed", "%w", err)
		}
		return err
	}
	return c
}

// A hearer is a store that tells what other hosts ask.
type hearer interface {
	Listen(ctx context.Context, l postgres.Listener) error
}

// listener touches the spool for what it hears. Whatever it is, it is owed by then: a request by its name would ask for it once
// more, on each host that hears.
func (s *site) listener(u *ui) postgres.Listener {
	touched := false
	watched, _ := daemon.SdWatchdogEnabled(false) // what makes no sense is no watchdog
	return postgres.Listener{
		Probe: watched / 3, // zero: nobody watches
		Heard: func(target reconcile.Key) error {
			if err := trigger.Touch(s.Trigger.Spool, owedRequest); err != nil {
				return fmt.Errorf("asking for a sweep: %w", err)
			}
			if target != "" || !touched {
				u.note("%s", heard(target))
			}
			touched = true
			return nil
		},
		Ready: func() {
			notify("READY=1\nSTATUS=listening")
			u.note("listening at %s", s.Database())
		},
		Alive: func() { notify("WATCHDOG=1") },
		Deaf: func(why error, again time.Duration) {
			notify("STATUS=deaf\nWATCHDOG=1")
			u.warning("deaf: %v; it tries again in %s, and sweeps find what is owed", why, span(again))
		},
	}
}

func heard(target reconcile.Key) string {
	if target == "" {
		return "asked for what is owed"
	}
	return fmt.Sprintf("heard of %s; asked for what is owed", target)
}
