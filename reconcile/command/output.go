package command

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"trueup/reconcile/secret"
)

// How much of what a program prints is kept: enough to see how it began, and more of how it ended.
const (
	keepHead = 16 << 10
	keepTail = 48 << 10
)

// A capture keeps the beginning and the end of what is written to it.
type capture struct {
	head, tail []byte
	written    int
}

// Write takes everything.
func (c *capture) Write(p []byte) (int, error) {
	c.written += len(p)
	rest := p
	if room := keepHead - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	c.tail = append(c.tail, rest...)
	if len(c.tail) > 2*keepTail { // not each time: moving costs
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keepTail:]...)
	}
	return len(p), nil
}

// text is what was kept, for people: valid UTF-8 without secrets and control characters. Where something was left out it
// is cut at the ends of lines, so that no piece of a secret stays.
func (c *capture) text(s secret.Texts) string {
	head, tail := c.head, c.tail
	if c.written <= keepHead+keepTail {
		return readable(s.Hide(string(head) + string(tail)))
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	_, tail, _ = bytes.Cut(tail[max(0, len(tail)-keepTail):], []byte{'\n'})
	cut := fmt.Sprintf("… %d bytes left out …\n", c.written-len(head)-len(tail))
	return readable(s.Hide(string(head))) + cut + readable(s.Hide(string(tail)))
}

// readable makes text that a terminal and a database take: no control characters, and a line break at the end.
func readable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// whole keeps everything up to a limit, and one byte more as a sign that there was more.
type whole struct {
	data  []byte
	limit int
	over  func() // called when there is more
}

// Write takes everything.
func (w *whole) Write(p []byte) (int, error) {
	w.data = append(w.data, p[:min(len(p), w.limit+1-len(w.data))]...)
	if len(w.data) > w.limit {
		w.over()
	}
	return len(p), nil
}

// How much of what was printed goes into an error.
const (
	lastLines = 3
	lastBytes = 400
)

// last are the last lines that were printed, to be put behind an error; nothing when nothing was printed.
func (o outcome) last() string {
	lines := strings.FieldsFunc(o.printed, func(r rune) bool { return r == '\n' })
	text := strings.TrimSpace(strings.Join(lines[max(0, len(lines)-lastLines):], " | "))
	if len(text) > lastBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-lastBytes:], "")
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

func (o outcome) failure(name string) error {
	return fmt.Errorf("%s exited with %d%s", name, o.exit, o.last())
}
