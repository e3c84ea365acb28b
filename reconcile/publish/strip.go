package publish

import (
	"fmt"
	"math"
	"time"
)

// A Strip is a day as a drawing: the slots of five minutes in which something ran, and on top of them the runs that are on
// record. Places are percent of the width, so that it fits any.
type Strip struct {
	Hours []Tick
	Slots []Bar
	Runs  []Bar
	Says  string // what it shows, for who does not see it
}

// A Tick is an hour's line, with its name now and then; Last is at the right edge.
type Tick struct {
	X, Name string
	Last    bool
}

// A Bar is a slot or a run. Its height is the logarithm of how long it took.
type Bar struct {
	X             string // its left edge
	Late          bool   // a run that would reach past the right edge of a small window: it stands its width further left
	Y, Height     int    // pixels
	Waited        string // width of the wait in the gate before it; empty: none
	WaitX         string
	State, Text   string // Text is shown while it is hovered or has the focus
	Link          string // of its story; empty: it takes no focus
	Sign          string // stands above it, so that it differs in more than its colour
	SignY         int
	Touched, Fail bool
}

// The lanes of the drawing, in pixels from above: see page.html.
const (
	stripBase    = 88 // where bars stand
	stripHighest = 56
	stripLowest  = 5
)

// barWide is the width of a slot's bar, 0.26 % of the day.
const barWide = Day * 26 / 10000

// late is the end of the day in which runs are Late.
const late = Day / 36

// NewStrip is an empty day that ends at an instant, in that instant's time zone.
func NewStrip(now time.Time) *Strip {
	s := &Strip{}
	begin := now.Add(-Day)
	for h := begin.Truncate(time.Hour).Add(time.Hour); !h.After(now); h = h.Add(time.Hour) {
		tick := Tick{X: place(h, now), Last: now.Sub(h) < time.Hour}
		if h.In(now.Location()).Hour()%6 == 0 {
			tick.Name = h.In(now.Location()).Format("15:04")
		}
		s.Hours = append(s.Hours, tick)
	}
	return s
}

// AddSlot draws a slot, with what is to be said of it.
func (s *Strip) AddSlot(slot Slot, now time.Time, text string) {
	b := bar(slot.At, slot.Longest, now)
	b.X = percent(min(passed(slot.At, now), Day-barWide))
	b.Text, b.Touched, b.Fail, b.State = text, slot.Touched > 0, slot.Failed > 0, "ok"
	if b.Fail {
		b.State = "failed"
	}
	if slot.Waited > 0 {
		from := min(passed(slot.At.Add(-slot.Waited), now), Day-slotLength)
		b.WaitX, b.Waited = percent(from), percent(min(max(slot.Waited, slotLength), Day-from))
	}
	s.Slots = append(s.Slots, b)
}

// AddRun draws a run; one that began more than a day ago is not shown.
func (s *Strip) AddRun(began time.Time, took time.Duration, now time.Time, state, text, link string) {
	if now.Sub(began) > Day {
		return
	}
	b := bar(began, took, now)
	b.Late = passed(began, now) > Day-late
	b.State, b.Text, b.Link, b.SignY = state, text, link, max(11, b.Y-4)
	if state == "failed" || state == "expired" || state == "held" {
		b.Sign = glyphs()[state]
	}
	s.Runs = append(s.Runs, b)
}

func bar(at time.Time, took time.Duration, now time.Time) Bar {
	// 10 ms is low, 1 s in the middle, 100 s and more as high as it gets.
	height := stripLowest + int(float64(stripHighest-stripLowest)*math.Log10(max(1, took.Seconds()*100))/4)
	height = min(height, stripHighest)
	return Bar{X: place(at, now), Y: stripBase - height, Height: height}
}

// place is where an instant of the day before now stands.
func place(t, now time.Time) string { return percent(passed(t, now)) }

// passed is how much of the day had passed at an instant.
func passed(t, now time.Time) time.Duration { return max(0, min(Day, Day-now.Sub(t))) }

func percent(d time.Duration) string { return fmt.Sprintf("%.2f%%", 100*d.Seconds()/Day.Seconds()) }
