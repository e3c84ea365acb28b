package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"trueup/reconcile"
	"trueup/reconcile/publish"
)

// A view is what the page shows: what status knows, the last runs, and what sweeps came to within a day.
type view struct {
	facts
	runs     []reconcile.History // on record, the latest first
	activity publish.Activity
	remarks  []string // what could not be seen
	host     string
	linked   map[int]bool // which of the runs the stories tell
}

// How much the page shows, so that it stays a page.
const (
	maxRows    = 200
	maxQuiet   = 1000
	maxRuns    = 200 // of all targets
	maxStory   = 8   // of one
	maxRemoved = 24  // lines of what waits for approval
	maxCards   = 24  // things that need a person
	maxHolders = 50
	maxText    = 120 // runes of a note or a change
	maxTold    = 64  // of what a run came to
	oldest     = 15 * time.Minute
)

// page gives what is known the words of the page.
func (v *view) page() publish.Page {
	v.linked = map[int]bool{}
	mood, sentence := v.sentence()
	old := max(oldest, missedSweeps*v.interval())
	if v.host == "" {
		v.host, _ = os.Hostname() // without one the page has no host's name
	}
	p := publish.Page{
		Title: shortened("trueup: "+sentence, 70), About: shown(cmp.Or(v.unit, v.folders.State) + " on " + v.host), Mood: mood, Sentence: shown(sentence),
		Beside: v.beside(), Needs: v.cards(), Health: v.health(), Version: fullVersion(),
		Written: v.now, Clock: v.now.Local().Format("2006-01-02 15:04:05 MST"), Old: old, OldText: span(old),
	}
	for _, text := range slices.Concat(v.notes(), v.warnings(), v.remarks) {
		p.Remarks = append(p.Remarks, shown(text))
	}
	switch {
	case v.site == nil:
		p.None = "This service is not trueup's own: trueup triggers it, and knows of no targets"
		return p
	case v.site.err != nil:
		p.None = "What is known of the targets cannot be read"
	default:
		p.None = "No target is declared"
	}
	v.addTargets(&p)
	v.addDay(&p)
	return p
}

// shown is text as the page has it: one line without what could turn it around, and not without end.
func shown(text string) string { return shortened(text, 4*maxText) }

func shortened(text string, most int) string {
	text = printable(oneLineOf(text))
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// amid is text as the page has it, shortened in its midst: an error begins with what it was about, and ends with its cause.
func amid(text string, most int) string {
	runes := []rune(printable(oneLineOf(text)))
	if len(runes) <= most {
		return string(runes)
	}
	head := most / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-head-1):])
}

// cards are what a person has to deal with, each with the commands that do.
func (v *view) cards() (cards []publish.Need) {
	needs := v.needs()
	for _, n := range needs[:min(len(needs), maxCards)] {
		word, what, ok := strings.Cut(n.What, ": ")
		if !ok || len(word) > len("not started") {
			word, what = "trouble", n.What
		}
		card := publish.Need{Word: word, What: shown(what)}
		if n.Do != "" {
			for command := range strings.SplitSeq(n.Do, " · ") {
				if sentence, is := strings.CutPrefix(command, "# "); is {
					card.Say = printable(sentence)
				} else {
					card.Do = append(card.Do, printable(command))
				}
			}
		}
		if word == "held" {
			v.addHeld(&card)
		}
		cards = append(cards, card)
	}
	if more := len(needs) - maxCards; more > 0 {
		cards = append(cards, publish.Need{Word: "more", What: counted(more, "thing") + " more", Do: []string{v.more()}})
	}
	return cards
}

// more is the command that shows what the page leaves out.
func (v *view) more() string {
	if v.site == nil {
		return "trueup status"
	}
	return "trueup status" + v.site.flags
}

// addHeld names what waits for approval.
func (v *view) addHeld(card *publish.Need) {
	target, _, _ := strings.Cut(card.What, ": ")
	hold := v.site.holds[reconcile.Key(target)]
	i := slices.IndexFunc(v.runs, func(h reconcile.History) bool { return h.Lease.Run == hold.Run })
	if i < 0 {
		return
	}
	waiting := v.runs[i].Waiting()
	for _, c := range waiting[:min(len(waiting), maxRemoved)] {
		card.Lines = append(card.Lines, string(c.Op)+" "+shortened(c.Text, maxText))
	}
	if more := len(waiting) - maxRemoved; more > 0 {
		card.More = fmt.Sprintf("and %d more, which trueup show names", more)
	}
}

// health is the trigger.
func (v *view) health() (lines []publish.Fact) {
	add := func(alert bool, name, text string) {
		lines = append(lines, publish.Fact{Name: name, Text: shown(text), Alert: alert})
	}
	word, _ := v.condition()
	add(word != "ready" && word != "waiting" && word != "running", "state", word)
	if s := v.systemd; s != nil {
		path, heard := s.path(), "heard"
		deaf := path != "waiting" && path != "running"
		if deaf {
			heard = "not heard"
		}
		add(deaf, "path", path+": touches are "+heard)
		if next := s.nextSweep(); !next.IsZero() {
			add(false, "next sweep", "at "+clock(next, v.now)+", by "+s.timer().Unit)
		} else {
			add(!s.timerDeclined, "next sweep", "no timer is set")
		}
	}
	if v.policy.Floor > 0 {
		add(false, "floor", span(v.policy.Floor)+" between a success and the next claim")
	}
	if c := v.state.Claim; c != nil && c.N > 0 {
		add(c.Attempt > 1, "claim", fmt.Sprintf("%d for %s, attempt %d, since %s", c.N, wanted(*c), c.Attempt, clock(c.Claimed, v.now)))
	}
	if last := v.state.Settled.Finished.Wall; !last.IsZero() {
		add(false, "last success", clock(last, v.now))
	}
	if claims, ok, bad := v.runCounts(); claims > 0 {
		add(false, "runs", fmt.Sprintf("%s succeeded, %s failed since the state folder was made", thousands(int(ok)), thousands(int(bad))))
	}
	for _, a := range v.alarms {
		add(true, "alarm", strings.TrimRight(fmt.Sprintf("%s since %s %s", a.Name, clock(a.Since, v.now), a.Target), " "))
	}
	return lines
}
