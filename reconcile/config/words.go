package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// mistaken is what YAML 1.1 and 1.2 readers, in one language or another, take for something else than text when it stands
// unquoted. It is compiled when a first configuration is read, since commands that read none pay for it too otherwise.
var mistaken = sync.OnceValue(func() (all []reading) {
	for _, m := range [][2]string{
		{"nothing", `^(~|null|Null|NULL|)$`},
		{"true or false", `(?i)^(y|n|yes|no|on|off|true|false)$`},
		{"a number", `^[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$`},
		{"a number", `^[-+]?0(b[01_]+|o[0-7_]+|x[0-9a-fA-F_]+)$`},
		{"a number of minutes and seconds", `^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`},
		{"a number", `(?i)^([-+]?\.inf|\.nan)$`},
		{"a date", `^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`},
	} {
		all = append(all, reading{m[0], regexp.MustCompile(m[1])})
	}
	return all
})

type reading struct {
	what string
	like *regexp.Regexp
}

// mistakable says as what a scalar may be read instead of text; nothing where it is text to everybody.
func mistakable(n *yaml.Node) string {
	if !plain(n) || sameNumber(n.Value) {
		return ""
	}
	return takenFor(n.Value)
}

func takenFor(text string) string {
	for _, m := range mistaken() {
		if m.like.MatchString(text) {
			return m.what
		}
	}
	return ""
}

// plain tells whether a scalar stands without quotes.
func plain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// A DurationError says what is wrong with a duration.
type DurationError struct {
	Text string
	Hint string // the likely meaning
	what string
}

func (e *DurationError) Error() string { return fmt.Sprintf("%s %s", e.Text, e.what) }

// ParseDuration reads a duration in the one form that the configuration knows: 90s, 5m, 1h30m, 250ms. Flags that take a
// duration use it too. Its errors are of type *DurationError.
func ParseDuration(s string) (time.Duration, error) {
	if days, is := strings.CutSuffix(s, "d"); is && digits(days) == len(days) && days != "" && len(days) <= 4 {
		n, _ := strconv.Atoi(days) // digits, and few
		return 0, &DurationError{s, fmt.Sprintf("did you mean %dh?", 24*n), "has a unit that changes its length with the season"}
	}
	switch {
	case s != "" && isDuration(s):
		length, err := time.ParseDuration(s)
		if err == nil {
			return length, nil
		}
	case s != "" && digits(s) == len(s):
		return 0, &DurationError{s, fmt.Sprintf("did you mean %ss?", s), "has no unit"}
	case strings.HasPrefix(s, "-"):
		return 0, &DurationError{s, "", "is negative"}
	}
	return 0, &DurationError{s, "write whole numbers with h, m, s or ms, such as 1h30m", "is no duration"}
}

// FormatDuration writes a duration as ParseDuration reads it.
func FormatDuration(d time.Duration) string {
	if d < time.Millisecond {
		return "0s"
	}
	var b strings.Builder
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / unit.length; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
			d -= n * unit.length
		}
	}
	return b.String()
}
