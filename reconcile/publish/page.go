package publish

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"time"
)

// A Page is what the status page shows. Whoever makes it has chosen the words; here they only get their places. Nothing in it
// is trusted: whatever a name or a note holds is shown as text.
type Page struct {
	Title    string // of the browser's tab, 70 characters at most
	About    string // the service and its host
	Mood     string // well, wait where it mends itself, needs where it needs a person
	Sentence string // the state of everything, in one
	Beside   string // what else the first glance should give; empty: nothing
	Needs    []Need
	Health   []Fact // of the trigger
	Figures  []Fact // of the last day
	Strip    *Strip // the last day; nil where nothing is known of it
	Rows     []Row
	Quiet    []string // names of targets that have no row of their own: all is well with them
	More     string   // what is left out of rows and names, and where to find it
	None     string   // why there is neither a row nor a name
	Holds    []Holder
	Stories  []Story
	Remarks  []string // notes and warnings
	Version  string
	Written  time.Time
	Clock    string        // when it was written, for people
	Old      time.Duration // from what age on the page is itself an alarm
	OldText  string        // the same for people
}

// A Need is something that a person has to deal with.
type Need struct {
	Word  string // held, failing, dead
	What  string
	Do    []string // commands, each alone
	Say   string   // what to do where no command does
	Lines []string // what would be removed, say, each with its sign
	More  string   // what of it is left out, and where to find it
}

// A Fact is a name and what there is to say.
type Fact struct {
	Name, Text string
	Alert      bool // it is not as it should be
}

// An Age is an instant that is shown by how long ago it was; the browser keeps that true.
type Age struct {
	At   time.Time // zero: there is none, and Text stands as it is
	Text string
}

// A Row is a target.
type Row struct {
	Name, State string
	Since, Good Age
	Next, Note  string
	Do          string   // the command that tells more
	Past        string   // what its last runs came to, in a line; empty: none is on record
	Link        string   // of its story
	Marks       []string // the states of its last runs, the latest last
}

// A Holder is somebody who holds scopes.
type Holder struct{ By, What, Scopes, Until string }

// A Story is the last runs of a target, the latest first.
type Story struct {
	Link, Name string
	Past       string // what they came to, in a line
	Runs       []Told
	More       string // where to find more
}

// Told is a run.
type Told struct{ Link, When, State, Took, What, Do string }

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// HTML is the page as one file: it asks for nothing else, and its policy lets a browser ask for nothing else.
func (p Page) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"css": func() template.CSS { return template.CSS(pageCSS) }, // ours
		"js":  func() template.JS { return template.JS(pageJS) },
		"csp": func() string {
			return "default-src 'none'; style-src " + source(pageCSS) + "; script-src " + source(pageJS) + "; base-uri 'none'; form-action 'none'"
		},
		"rfc":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"secs":  func(d time.Duration) int { return int(d.Seconds()) },
		"sign":  func(line string) string { return signs()[line[:min(1, len(line))]] },
		"glyph": func(state string) string { return cmp.Or(glyphs()[state], "!") },
	}).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	return text.Bytes(), nil
}

// source names a text in a content security policy.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// glyphs stand beside the words of states, so that they differ in shape as well as in colour.
func glyphs() map[string]string {
	return map[string]string{"ok": "●", "succeeded": "●", "approved": "●", "held": "◆", "failing": "✕", "failed": "✕", "expired": "✕", "dead": "✕",
		"unknown": "?", "limited": "◔", "elsewhere": "◐", "running": "◌", "waiting": "○", "rejected": "◇"}
}

// signs are the classes of a plan's lines.
func signs() map[string]string {
	return map[string]string{"+": "plus", "~": "tilde", "-": "minus", "?": "unknown"}
}
