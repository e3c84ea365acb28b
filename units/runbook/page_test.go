package runbook

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A part is one heading of a page, and what stands below it up to the next.
type part struct {
	heading  string
	commands []command
	files    map[string]string // by the language of their block
}

// A command is what somebody types, and what the page shows of the answer.
type command struct {
	text  string
	shows []string
}

// readPage takes a page apart.
func readPage(t *testing.T, file string) []part {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(string(text))
}

// parse knows two forms of code: fenced, and indented by four after an empty line.
func parse(text string) []part {
	parts := []part{{}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		last := &parts[len(parts)-1]
		line := lines[i]
		fence := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(fence, "```"):
			indent := line[:len(line)-len(fence)]
			var block []string
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], indent+"```"); i++ {
				block = append(block, strings.TrimPrefix(lines[i], indent))
			}
			last.add(strings.TrimPrefix(fence, "```"), block)
		case strings.HasPrefix(line, "#"):
			parts = append(parts, part{heading: strings.TrimLeft(line, "# ")})
		case strings.HasPrefix(line, "    ") && lines[i-1] == "":
			var block []string
			for ; i < len(lines) && strings.HasPrefix(lines[i], "    "); i++ {
				block = append(block, lines[i][4:])
			}
			last.add("", block)
		}
	}
	return parts
}

// add takes a block up: a script whole, lines as commands, with what they print where there are prompts, anything else as
// a file.
func (p *part) add(language string, block []string) {
	prompted := false
	for _, line := range block {
		prompted = prompted || strings.HasPrefix(line, "$ ")
	}
	switch {
	case language == "sh":
		p.commands = append(p.commands, command{text: strings.Join(block, "\n")})
	case language != "":
		if p.files == nil {
			p.files = map[string]string{}
		}
		p.files[language] = strings.Join(block, "\n") + "\n"
	case prompted:
		for _, line := range block {
			if text, ok := strings.CutPrefix(line, "$ "); ok {
				p.commands = append(p.commands, command{text: text})
			} else if last := len(p.commands) - 1; line != "" || p.commands[last].shows != nil {
				p.commands[last].shows = append(p.commands[last].shows, line)
			}
		}
	default:
		for _, line := range block {
			if line != "" {
				p.commands = append(p.commands, command{text: line})
			}
		}
	}
}

// spans are what stands between backquotes in the text of a page.
func spans(t *testing.T, file string) (found []string) {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	prose := regexp.MustCompile("(?ms)^ *```.*?^ *```|^    .*?$").ReplaceAllString(string(text), "")
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(prose, -1) {
		found = append(found, strings.Join(strings.Fields(m[1]), " "))
	}
	return found
}

// wildcard is what may differ between a page and what is seen: runs, tickets, clocks, times, numbers, hosts, gaps.
var wildcard = regexp.MustCompile(`r-[0-9a-z]{5}|\b[A-Z2-7]{10}:\d+|\d\d:\d\d:\d\d(\.\d+)?|` + duration + `|\b\d+(\.\d+)?|host-a|…| +`)

const duration = `\b\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?`

// pattern is a regular expression for what a page shows; a line with … alone stands for any lines.
func pattern(shows []string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString("^")
	for len(shows) > 0 && shows[len(shows)-1] == "" {
		shows = shows[:len(shows)-1]
	}
	for _, line := range shows {
		if strings.TrimSpace(line) == "…" {
			p.WriteString(`(.*\n)*`)
			continue
		}
		rest := strings.TrimRight(line, " ")
		for at := wildcard.FindStringIndex(rest); at != nil; at = wildcard.FindStringIndex(rest) {
			p.WriteString(regexp.QuoteMeta(rest[:at[0]]) + likeness(rest[at[0]:at[1]]))
			rest = rest[at[1]:]
		}
		p.WriteString(regexp.QuoteMeta(rest) + ` *\n`)
	}
	return regexp.MustCompile(p.String() + "$")
}

// likeness is what may stand in place of something.
func likeness(text string) string {
	switch {
	case strings.HasPrefix(text, "r-"):
		return `r-[0-9a-z]+`
	case strings.HasPrefix(text, " "):
		return ` +`
	case text == "…":
		return `.*`
	case text == "host-a":
		return `\S+`
	case strings.Count(text, ":") == 2:
		return `(\w{3} \d+ )?\d\d:\d\d:\d\d(\.\d+)?`
	case strings.Contains(text, ":"):
		return `[A-Z2-7]+:\d+`
	case strings.Contains(text, " "):
		return duration
	}
	return `\d+(\.\d+)?`
}

// TestPattern shows what may differ from a page, and what may not.
func TestPattern(t *testing.T) {
	shows := []string{"run r-a1y99  command:motd   by sweep on host-a, fence 2, at 14:01:58.112", "  covered (12 s ago)", "…", "K3V7QXNM2A:0"}
	for said, want := range map[string]bool{
		"run r-7  command:motd by sweep on other, fence 31, at Nov 28 09:00:00\n covered (1 min 3 s ago)\nK3V:7\n":     true,
		"run r-7  command:motd by sweep on other, fence 31, at 09:00:00\n covered (3 ms ago)\nmore\nand more\nK3V:7\n": true,
		"run r-7  command:motd by sweep on other, fence 31, at 09:00:00\n covered (never)\nK3V:7\n":                    false,
		"run r-7  command:web by sweep on other, fence 31, at 09:00:00\n covered (3 ms ago)\nK3V:7\n":                  false,
		"run r-7  command:motd by sweep on other, fence 31, at 09:00:00\n covered (3 ms ago)\nK3V:7\nmore\n":           false,
		"": false,
	} {
		if got := pattern(shows).MatchString(said); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}

// TestParse takes both forms of code apart.
func TestParse(t *testing.T) {
	parts := parse("# One\n\n    a\n    b # c\n\n- two\n    no code\n\n## Two\n\n    $ d\n    says\n\n    more\n\n1. x\n\n   ```sh\n   e\n   f\n   ```\n\n```ini\n[g]\n```\n")
	one, two := parts[1], parts[2]
	if len(one.commands) != 2 || one.commands[1].text != "b # c" || one.commands[1].shows != nil {
		t.Errorf("One has %q", one.commands)
	}
	if len(two.commands) != 3 || two.commands[0].text != "d" || two.commands[0].shows[0] != "says" || two.commands[2].text != "e\nf" || two.files["ini"] != "[g]\n" {
		t.Errorf("Two has %q, %q", two.commands, two.files)
	}
}
