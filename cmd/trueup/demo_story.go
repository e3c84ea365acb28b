package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"trueup/reconcile/trigger"
)

// demoRun is one run as the chart shows it.
type demoRun struct {
	claim, attempt string
	touches        int       // that it is to cover
	waits          time.Time // since when it waited for its start
	started, ended time.Time
	outcome        string
}

// expect follows the watch's log, drawing each line, until the given events have come, in their order. What a
// run must not do is not among them, so it is an error.
func (s *stage) expect(ctx context.Context, ids ...string) (last logged, err error) {
	for len(ids) > 0 {
		select {
		case e, open := <-s.events:
			if !open {
				return last, errors.New("the watch has ended by itself")
			}
			if err := s.follow(e); err != nil {
				return e, err
			}
			if e.ID == ids[0] {
				last, ids = e, ids[1:]
			} else if e.ID == trigger.MsgFailed || e.ID == trigger.MsgClaimed || e.ID == trigger.MsgSettled {
				return e, fmt.Errorf("unexpected: %s", e.Message)
			}
		case <-ctx.Done():
			return last, fmt.Errorf("waited in vain: %w", context.Cause(ctx))
		}
	}
	return last, nil
}

// follow draws one event, and takes note of it.
func (s *stage) follow(e logged) error {
	switch e.ID {
	case trigger.MsgWaiting:
		left := ""
		if until, err := time.Parse(time.RFC3339Nano, e.Fields["TRUEUP_UNTIL"]); err == nil {
			left = fmt.Sprintf(" until %.3f s", until.Sub(s.began).Seconds())
		}
		s.line(e.Time, "waiting out the %s%s", e.Fields["TRUEUP_WAIT"], left)
	case trigger.MsgClaimed:
		s.startRun(e)
	case trigger.MsgFailed:
		s.endRun(e.Time, "failed")
		s.line(e.Time, "run %d failed; its claim stands", len(s.runs))
	case trigger.MsgSettled:
		s.endRun(e.Time, "ok")
		live, err := s.check()
		s.line(e.Time, "run %d done: %s", len(s.runs), live)
		return err
	default:
		s.line(e.Time, "%s", e.Message)
	}
	return nil
}

func (s *stage) startRun(e logged) {
	run := demoRun{claim: e.Fields["TRUEUP_CLAIM"], attempt: e.Fields["TRUEUP_ATTEMPT"], started: e.Time}
	for _, a := range s.asked {
		if !a.covered {
			run.touches++
		}
	}
	waited, _ := strconv.ParseInt(e.Fields["TRUEUP_WAITED_USEC"], 10, 64) // none: it did not wait
	run.waits = e.Time.Add(-time.Duration(waited) * time.Microsecond)
	s.runs = append(s.runs, run)
	what := "for " + count(run.touches, "touch", "touches")
	switch late := e.Time.Sub(s.lastTouch); {
	case run.touches == 0:
		what = "though nobody asked: a sweep"
	case run.attempt != "1":
		what += ", attempt " + run.attempt
	case late < demoFloor/2:
		what += ", " + span(late) + " after it"
	}
	s.line(e.Time, "run %d starts %s", len(s.runs), what)
}

func (s *stage) endRun(at time.Time, outcome string) {
	run := &s.runs[len(s.runs)-1]
	run.ended, run.outcome = at, outcome
}

// check holds every ticket that is shown as covered against what the host has.
func (s *stage) check() (live string, err error) {
	shown, err := trigger.ReadStatus(s.folders.Outbox)
	if err != nil {
		return "", err
	}
	has, err := s.readNumber("host")
	if err != nil {
		return "", err
	}
	for i := range s.asked {
		a := &s.asked[i]
		if a.covered = a.covered || shown.Covers(a.ticket); a.covered && a.number > has {
			return "", fmt.Errorf("write %d is said to be live, and the host has %d", a.number, has)
		}
	}
	if s.written == 0 {
		return "nothing to copy yet", nil
	}
	if has == s.written {
		return fmt.Sprintf("the host has all %s", thousands(has)), nil
	}
	return fmt.Sprintf("the host has %s of %s", thousands(has), thousands(s.written)), nil
}

// verdict is computed from what is there, not from what was drawn.
func (s *stage) verdict() error {
	has, err := s.readNumber("host")
	if err != nil {
		return err
	}
	lost := 0
	for _, a := range s.asked {
		if !a.covered || a.number > has {
			lost++
		}
	}
	ran := fmt.Sprintf("ran %d times for %s", len(s.runs), count(len(s.asked), "touch", "touches"))
	if lost > 0 || has != s.written {
		return fail(exitNeeds, "", "%s; %d lost: the host has %d of %d", ran, lost, has, s.written)
	}
	s.ui.say("%s; nothing lost", ran)
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func (s *stage) title(text string) { s.ui.draw("\n%s", s.ui.painted(s.ui.out, bold, text)) }

func (s *stage) line(at time.Time, format string, args ...any) {
	s.ui.say("  %7.3f s  %s", at.Sub(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// chart draws a bar a run: what it waited, and how long it took.
func (s *stage) chart() {
	const columns = 60
	whole := time.Since(s.began)
	column := func(t time.Time) int { return int(t.Sub(s.began) * columns / whole) }
	s.ui.say("")
	s.ui.say("%-6s  %-*s  ░ waiting  █ running", "", columns, fmt.Sprintf("0 to %s", span(whole)))
	for i, r := range s.runs {
		from, start := column(r.waits), column(r.started)
		bar := strings.Repeat(" ", from) + strings.Repeat("░", start-from) + strings.Repeat("█", max(1, column(r.ended)-start))
		text := r.outcome
		if r.touches > 0 {
			text += ", " + count(r.touches, "touch", "touches")
		} else {
			text += ", sweep"
		}
		colour := red
		if r.outcome == "ok" {
			colour = green
		}
		s.ui.draw("run %2d  %s  %s", i+1, s.ui.painted(s.ui.out, colour, fmt.Sprintf("%-*s", columns, bar)), text)
	}
	s.ui.say("")
}
