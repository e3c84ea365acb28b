package signup

import (
	"os"
	"strings"
	"testing"
)

// A page is README.md: what is left of its commands.
type page struct{ commands []string }

func readPage(t *testing.T) *page {
	t.Helper()
	text, err := os.ReadFile(example + "signup/README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &page{}
	fenced := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if fenced {
			p.commands = append(p.commands, line)
		}
	}
	return p
}

// take takes the next command, which begins so. One that does not is not run: a script fails that says why.
func (p *page) take(begins string) string {
	if len(p.commands) == 0 || !strings.HasPrefix(p.commands[0], begins) {
		return "echo 'the next command of the page does not begin with what is played' >&2; exit 64"
	}
	next := p.commands[0]
	p.commands = p.commands[1:]
	return next
}
