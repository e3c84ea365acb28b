package main

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 0: "0 ms", 420 * time.Millisecond: "420 ms", 12 * time.Second: "12 s",
		59*time.Second + 700*time.Millisecond: "1 min", 190 * time.Second: "3 min 10 s", 2 * time.Hour: "2 h",
		2*time.Hour + 5*time.Minute + time.Second: "2 h 5 min", 75 * time.Hour: "3 d 3 h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for arg, want := range map[string]string{
		"web.service": "web.service", "/a b": "'/a b'", "": "''", "it's": `'it'\''s'`, `a\x2db.path`: `'a\x2db.path'`,
	} {
		if got := quoted(arg); got != want {
			t.Errorf("quoted(%q) = %s, want %s", arg, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain · ░█ é 名 \\x": "plain · ░█ é 名 \\x", "\x1b[2J": `\x1b[2J`, "a\nb\t\r": `a\nb\t\r`, "\u009b1m": `\u009b1m`,
		"\x9b1m": `\x9b1m`, "\u202e": `\u202e`, "\x7f\x00": `\x7f\x00`, `"`: `"`, "\ufffd": "\ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
}
