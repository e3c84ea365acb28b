package main

import (
	"context"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// How often the screen is drawn, how often it looks by itself, and how often it looks while a run is on or the files change.
const (
	drawEvery  = time.Second
	renewEvery = 10 * time.Second
	lookSoon   = 300 * time.Millisecond
)

// watchStatus shows the status and keeps it true, until somebody is told enough.
func watchStatus(ctx context.Context, u *ui, ask func(context.Context) ([]facts, error)) error {
	reports, err := ask(ctx)
	if err != nil {
		return err
	}
	if !terminal(u.out) || !readable(os.Stdin) || os.Getenv("TERM") == "dumb" {
		u.page(statusText(reports))
		u.note("shown once: --watch wants a terminal")
		return nil
	}
	changes := follow(reports)
	defer changes.close()
	s := &screen{ctx: ctx, ask: ask, plain: u.plain, changed: changes.events}
	s.seen(reports, nil)
	_, err = tea.NewProgram(s, tea.WithContext(ctx), tea.WithFPS(10), tea.WithoutSignalHandler()).Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// readable tells whether keys can be read.
func readable(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// looked is what a look has found.
type looked struct {
	reports []facts
	err     error
}

// due says that the screen has to be drawn; hint that something has changed.
type (
	due  struct{}
	hint struct{}
)

// A screen is the status as a terminal shows it.
type screen struct {
	ctx     context.Context
	ask     func(context.Context) ([]facts, error)
	plain   bool
	changed <-chan struct{}

	reports       []facts
	err           error
	at            time.Time // of the last look
	looking       bool
	again         bool // something has changed since it began
	top           int  // how many lines are scrolled away
	width, height int
}

// Init is bubbletea's.
func (s *screen) Init() tea.Cmd { return tea.Batch(draw(), s.await()) }

func draw() tea.Cmd { return tea.Tick(drawEvery, func(time.Time) tea.Msg { return due{} }) }

// await waits for a change, and a moment more for those that come with it.
func (s *screen) await() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-s.changed:
		case <-s.ctx.Done():
			return nil
		}
		select {
		case <-time.After(lookSoon):
		case <-s.ctx.Done():
		}
		return hint{}
	}
}

// look asks anew, one look at a time.
func (s *screen) look() tea.Cmd {
	if s.looking {
		s.again = true
		return nil
	}
	s.looking, s.again = true, false
	return func() tea.Msg {
		reports, err := s.ask(s.ctx)
		return looked{reports, err}
	}
}

func (s *screen) seen(reports []facts, err error) {
	s.at, s.err = time.Now(), err
	if err == nil {
		s.reports = reports
	}
}

// Update is bubbletea's.
func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tea.KeyPressMsg:
		return s, s.key(m.String())
	case hint:
		return s, tea.Batch(s.look(), s.await())
	case due:
		if age := time.Since(s.at); age >= renewEvery || s.running() {
			return s, tea.Batch(s.look(), draw())
		}
		return s, draw()
	case looked:
		s.looking = false
		s.seen(m.reports, m.err)
		if s.again {
			return s, s.look()
		}
	}
	return s, nil
}

func (s *screen) key(name string) tea.Cmd {
	switch name {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "r":
		return s.look()
	case "down", "j":
		s.top++
	case "up", "k":
		s.top--
	case "pgdown", "space":
		s.top += max(1, s.height-4)
	case "pgup":
		s.top -= max(1, s.height-4)
	case "home", "g":
		s.top = 0
	}
	return nil
}

// running tells whether a run is on, whose progress no file tells.
func (s *screen) running() bool {
	for _, f := range s.reports {
		if f.phase() == "running" {
			return true
		}
	}
	return false
}
