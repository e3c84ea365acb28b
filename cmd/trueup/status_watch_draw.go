package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

const barWidth = 20

// View is bubbletea's: the lines of status, under what is going on at the moment.
func (s *screen) View() tea.View {
	lines := s.lines(time.Now())
	room := max(1, s.height-1)
	if s.height == 0 {
		room = len(lines)
	}
	s.top = max(0, min(s.top, len(lines)-room))
	end := min(len(lines), s.top+room)
	below := "q quits"
	if end < len(lines) || s.top > 0 {
		below += fmt.Sprintf(" · %s more, by the arrows", counted(len(lines)-(end-s.top), "line"))
	}
	v := tea.NewView(strings.Join(append(lines[s.top:end:end], s.faint(below)), "\n"))
	v.AltScreen, v.WindowTitle = true, "trueup status"
	return v
}

func (s *screen) lines(now time.Time) []string {
	reports := later(s.reports, now.Sub(s.at))
	host, _ := os.Hostname() // without one it goes without
	lines := []string{s.paint(bold, "trueup status") + s.faint("  "+host+"  "+now.Local().Format(time.TimeOnly)), ""}
	if s.err != nil {
		lines = append(lines, s.paint(red, "error: ")+printable(oneLine(s.err)), "")
	}
	for _, f := range reports {
		lines = append(lines, s.activity(f, len(reports) > 1)...)
	}
	needs := 0
	for _, f := range reports {
		for _, n := range f.needs() {
			needs += len(findingLines(n))
		}
	}
	for i, line := range statusText(reports) {
		parts := folded(line, s.width)
		for j := range parts {
			switch {
			case i < needs:
				parts[j] = s.paint(red, parts[j])
			case j == 0:
				parts[j] = s.coloured(parts[j])
			}
		}
		lines = append(lines, parts...)
	}
	return lines
}

// folded is a line in as many as it takes: what a person has to know and do does not end at the window's edge.
func folded(line string, width int) (parts []string) {
	rest := []rune(line)
	for width > 0 && len(rest) > width {
		parts, rest = append(parts, string(rest[:width])), rest[width:]
	}
	return append(parts, string(rest))
}

// activity is the gate's countdown, or the bar of the run that is on.
func (s *screen) activity(f facts, named bool) []string {
	text := ""
	switch done, total, now := f.sweepOn(); {
	case total > 0:
		text = fmt.Sprintf("%s %d of %d", bar(done, total), done, total)
		if now != "" {
			text += " · " + printable(string(now))
		}
	case f.phase() == trigger.Running && f.state.Claim != nil:
		text = "running for " + span(f.now.Sub(f.state.Claim.Claimed))
	case f.phase() == trigger.Waiting && f.policy.Floor == 0: // trueup watch alone knows how long
		text = "waiting for the end of the floor"
	case f.phase() == trigger.Waiting && f.floorLeft() > 0:
		text = fmt.Sprintf("%s waiting %s of the floor", countdown(f.floorLeft(), f.policy.Floor), span(f.floorLeft().Round(time.Second)))
	case f.phase() == trigger.Failing && f.backoffLeft() > 0:
		text = fmt.Sprintf("%s waiting %s of the backoff", countdown(f.backoffLeft(), f.policy.Backoff(f.state.Claim.Attempt)), span(f.backoffLeft().Round(time.Second)))
	default:
		return nil
	}
	if named {
		text = f.unit + "  " + text
	}
	return []string{s.paint(cyan, text), ""}
}

func countdown(left, whole time.Duration) string { return bar(int(whole-left), int(whole)) }

// bar is how much of a whole is done.
func bar(done, total int) string {
	full := 0
	if total > 0 {
		full = max(0, min(barWidth, barWidth*done/total))
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// coloured colours the first word of a line that says a state. The words are there without colours as well.
func (s *screen) coloured(line string) string {
	colours := map[string]string{string(reconcile.OK): green, "ready": green, string(reconcile.Held): yellow, string(reconcile.Failing): red, "dead": red,
		string(reconcile.Uncertain): red, string(reconcile.Waiting): cyan, "running": cyan, string(reconcile.Limited): yellow, string(reconcile.Elsewhere): yellow}
	first, rest, ok := strings.Cut(line, " ")
	word := strings.TrimLeft(rest, " ")
	gap := rest[:len(rest)-len(word)]
	word, rest, _ = strings.Cut(word, " ")
	colour := colours[word]
	if !ok || colour == "" {
		return line
	}
	return strings.TrimRight(first+" "+gap+s.paint(colour, word)+" "+rest, " ")
}

func (s *screen) paint(colour, text string) string {
	if s.plain {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s *screen) faint(text string) string { return s.paint("2", text) }
