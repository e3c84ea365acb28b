package command

import (
	"fmt"
	"strings"
	"testing"

	"trueup/reconcile/secret"
)

func TestCaptureIsBounded(t *testing.T) {
	var c capture
	for i := range 100_000 {
		fmt.Fprintf(&c, "printed %06d\n", i)
	}
	if held := cap(c.head) + cap(c.tail); held > 4*(keepHead+keepTail) {
		t.Errorf("%d bytes held", held)
	}
	text := c.text(secret.Texts{})
	if len(text) > keepHead+keepTail+100 || !strings.HasPrefix(text, "printed 000000\n") || !strings.HasSuffix(text, "printed 099999\n") {
		t.Errorf("%d bytes from %.20q to %q", len(text), text, text[len(text)-20:])
	}
	var cut int
	for l := range strings.Lines(text) {
		if _, err := fmt.Sscanf(l, "… %d bytes left out …", &cut); err != nil && len(l) != len("printed 000000\n") {
			t.Errorf("a piece of a line: %q", l)
		}
	}
	whole := text
	rest := len(whole) - len(fmt.Sprintf("… %d bytes left out …\n", cut))
	if rest+cut != c.written {
		t.Errorf("%d bytes kept and %d left out of %d", rest, cut, c.written)
	}
}

func TestCaptureKeepsAllThatFits(t *testing.T) {
	for _, n := range []int{0, 1, keepHead, keepHead + 1, keepHead + keepTail} {
		var c capture
		text := strings.Repeat("x", n)
		for rest := text; rest != ""; rest = rest[min(len(rest), 5000):] {
			_, _ = c.Write([]byte(rest[:min(len(rest), 5000)]))
		}
		if got := c.text(secret.Texts{}); strings.TrimSuffix(got, "\n") != text {
			t.Errorf("of %d bytes %d were kept", n, len(got))
		}
	}
}

// Wherever the cut falls, no piece of a secret stays: also in a line without an end.
func TestCutLeavesNoPieceOfASecret(t *testing.T) {
	var s secret.Texts
	s.Add("correct-horse-battery-staple")
	for shift := range 40 {
		for _, filler := range []string{"-", "-\n"} {
			var c capture
			_, _ = c.Write([]byte(strings.Repeat(".", shift)))
			for c.written < 3*(keepHead+keepTail) {
				_, _ = c.Write([]byte("correct-horse-battery-staple" + filler))
			}
			if text := c.text(s); strings.Contains(text, "horse") || strings.Contains(text, "stap") {
				t.Fatalf("shift %d: a piece of the secret stays", shift)
			}
		}
	}
}

// What is recorded is shown on terminals and stored in databases.
func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"a":                     "a\n",
		"a\r\nb\tc\n":           "a\nb\tc\n",
		"\x1b[2J\x00\u009b\xff": "\uFFFD[2J\uFFFD\uFFFD\uFFFD\n",
		"æøå 火 and an end: …\n": "æøå 火 and an end: …\n",
	} {
		if got := readable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
