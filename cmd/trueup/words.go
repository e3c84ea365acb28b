package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// span is a duration for people: the two greatest units that are not zero.
func span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	if d < time.Second {
		return strconv.Itoa(int(d.Milliseconds())) + " ms"
	}
	s := int(d.Round(time.Second).Seconds())
	for _, u := range []struct {
		size, part       int
		unit, partOfUnit string
	}{{86400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}} {
		if s >= u.size {
			text := fmt.Sprintf("%d %s", s/u.size, u.unit)
			if rest := s % u.size / u.part; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, u.partOfUnit)
			}
			return text
		}
	}
	return fmt.Sprintf("%d s", s)
}

// clock is an instant for people: local, with the day when it is another one.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ago is how long it is since; a clock set back gives none.
func ago(t, now time.Time) string { return span(now.Sub(t)) + " ago" }

// thousands groups a number's digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sized is a number of bytes for people.
func sized(bytes int64) string {
	size, unit := float64(bytes), 0
	for size >= 1024 && unit < 3 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", size, []string{"", "KiB", "MiB", "GiB"}[unit])
}

// printable is one line of text that a terminal only shows: what it would obey, and what is no text, is escaped as in
// a Go string. Names and texts from files may hold anything.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		part := text[:size]
		if noText := r == utf8.RuneError && size == 1; noText || !strconv.IsPrint(r) {
			part = strings.Trim(strconv.Quote(part), `"`)
		}
		b.WriteString(part)
		text = text[size:]
	}
	return b.String()
}

// quoted is an argument as a shell takes it, quoted only where it must be.
func quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._:@-+=,", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
