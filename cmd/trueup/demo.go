package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

const (
	demoFloor = 3 * time.Second
	demoSweep = 6 * time.Second
	demoLimit = time.Minute
	burst     = 1000
)

func demoVerb(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "watch the trigger at work, in a minute, on this machine",
		Long: `watch the trigger at work: a web app that writes and touches, a host that copies, and whatever can
go wrong in between

It needs neither systemd nor root: it runs trueup watch in a temporary folder, and removes that
afterwards. It exits 1 when anything was lost.`,
		Example: "  trueup demo",
		Args:    exactly(0, "nothing"),
		RunE:    func(c *cobra.Command, _ []string) error { return demo(c.Context(), u) },
	}
}

func demo(ctx context.Context, u *ui) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, errTooLong)
	defer cancel()
	s, err := newStage(u)
	if s != nil {
		defer func() { err = errors.Join(err, s.clear()) }()
	}
	if err != nil {
		return err
	}
	u.say("a web app writes a number and touches; the host copies it, at most once in %s (the floor), and every %s anyway",
		span(demoFloor), span(demoSweep))
	for _, act := range s.acts() {
		s.title(act.title)
		if err := act.play(ctx); err != nil {
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return context.Canceled
			}
			return fail(exitNeeds, "", "demo: %s: %w", act.title, err)
		}
	}
	s.chart()
	return s.verdict()
}

type act struct {
	title string
	play  func(context.Context) error
}

func (s *stage) acts() []act {
	return []act{
		{"the watch starts with a sweep", s.opening},
		{"a lone touch starts at once", s.loneTouch},
		{fmt.Sprintf("a burst of %s touches, and one in mid-run", thousands(burst)), s.burst},
		{"a run that fails is retried", s.failingRun},
		{"kill -9 the run", s.killedRun},
		{"kill -9 the watch, with its run", s.killedWatch},
		{"somebody changes the host by hand", s.drift},
	}
}

func (s *stage) opening(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	settled, err := s.expect(ctx, trigger.MsgClaimed, trigger.MsgSettled)
	if err != nil {
		return err
	}
	return pause(ctx, time.Until(settled.Time.Add(demoFloor)))
}

func (s *stage) loneTouch(ctx context.Context) error {
	if err := s.touch(1); err != nil {
		return err
	}
	claimed, err := s.expect(ctx, trigger.MsgClaimed)
	if err != nil {
		return err
	}
	if late := claimed.Time.Sub(s.lastTouch); late > demoFloor/2 {
		return fmt.Errorf("the run started only %s after the touch", span(late))
	}
	_, err = s.expect(ctx, trigger.MsgSettled)
	return err
}

func (s *stage) burst(ctx context.Context) error {
	if err := s.touch(burst); err != nil {
		return err
	}
	if err := s.reach(ctx); err != nil {
		return err
	}
	if err := s.touch(1); err != nil {
		return err
	}
	_, err := s.expect(ctx, trigger.MsgSettled, trigger.MsgClaimed, trigger.MsgSettled)
	return err
}

func (s *stage) failingRun(ctx context.Context) error {
	if err := os.WriteFile(s.path("fail"), nil, 0o600); err != nil {
		return err
	}
	if err := s.touch(1); err != nil {
		return err
	}
	_, err := s.expect(ctx, trigger.MsgClaimed, trigger.MsgFailed, trigger.MsgClaimed, trigger.MsgSettled)
	return err
}

func (s *stage) killedRun(ctx context.Context) error {
	if err := s.touch(1); err != nil {
		return err
	}
	if err := s.reach(ctx); err != nil {
		return err
	}
	if err := s.killRun(); err != nil {
		return err
	}
	_, err := s.expect(ctx, trigger.MsgFailed, trigger.MsgClaimed, trigger.MsgSettled)
	return err
}

func (s *stage) killedWatch(ctx context.Context) error {
	if err := s.touch(1); err != nil {
		return err
	}
	if err := s.reach(ctx); err != nil {
		return err
	}
	if err := s.killWatch(ctx); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	_, err := s.expect(ctx, trigger.MsgClaimed, trigger.MsgSettled)
	return err
}

func (s *stage) drift(ctx context.Context) error {
	if err := s.writeNumber("host", 0); err != nil {
		return err
	}
	s.line(time.Now(), "the host's number is 0; nobody touches")
	_, err := s.expect(ctx, trigger.MsgClaimed, trigger.MsgSettled)
	return err
}
