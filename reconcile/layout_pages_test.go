package reconcile_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	aTest    = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	aSubject = regexp.MustCompile(`^docs/(?:cases|design|performance)\.md$|^docs/decisions/`)
	aCase    = regexp.MustCompile(`\b(?:PATH|TMR|USR|CTR|SEC|TRG|LCK|SQL|REC|RTL|PGL|NAT|EVT|CFG|ACT)-[0-9]{2}\b`)
	aFact    = regexp.MustCompile(`\bF[0-9]{1,2}\b`)
	aLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	aCode    = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")
	aHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// staleNames finds pages that name a test which is not there: a promise that nothing holds.
func staleNames(t *tree) (found []finding) {
	tests := map[string]bool{}
	for _, s := range t.goFiles(isTest) {
		s.functions(func(name string, _ *ast.FuncDecl) { tests[name] = true })
	}
	for _, s := range t.sources {
		if s.file != nil || !aSubject.MatchString(s.path) {
			continue
		}
		for _, m := range aTest.FindAllStringSubmatch(s.text, -1) {
			if !tests[m[1]] {
				found = append(found, finding{s.path + " " + m[1], "is named there and is no test; name the one that holds it"})
			}
		}
	}
	return found
}

// uncitedCases finds what code and tests cite that no page explains: cases in docs/cases.md, facts in docs/systemd.md.
func uncitedCases(t *tree) (found []finding) {
	pages := map[string]string{}
	for _, s := range t.sources {
		pages[s.path] = s.text
	}
	for _, s := range t.goFiles(func(source) bool { return true }) {
		if strings.HasPrefix(s.path, "reconcile/layout_") {
			continue
		}
		for _, text := range s.prose() {
			for page, ids := range map[string][]string{"docs/cases.md": aCase.FindAllString(text, -1), "docs/systemd.md": aFact.FindAllString(text, -1)} {
				for _, id := range ids {
					if !regexp.MustCompile(`\b` + id + `\b`).MatchString(pages[page]) {
						found = append(found, finding{s.path + " " + id, fmt.Sprintf("is cited and not explained; give it a line in %s", page)})
					}
				}
			}
		}
	}
	return found
}

// deadLinks finds links between pages that lead nowhere: to a file that is not there, or to a heading that no page has.
func deadLinks(t *tree) (found []finding) {
	pages := map[string]string{}
	for _, s := range t.sources {
		pages[s.path] = s.text
	}
	for _, s := range t.sources {
		if path.Ext(s.path) != ".md" {
			continue
		}
		for _, m := range aLink.FindAllStringSubmatch(aCode.ReplaceAllString(s.text, ""), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another host's
			}
			to := s.path
			if target != "" {
				to = path.Join(path.Dir(s.path), target)
			}
			text, isPage := pages[to]
			switch {
			case !isPage && !slices.Contains(t.names, to):
				found = append(found, finding{s.path + " " + m[1], "is linked there and is no file; mend the link"})
			case heading != "" && !slices.Contains(anchors(text), heading):
				found = append(found, finding{s.path + " " + m[1], "is linked there and is no heading; mend the link"})
			}
		}
	}
	return found
}

// anchors are the names by which a page's headings are linked.
func anchors(page string) (names []string) {
	for _, m := range aHeading.FindAllStringSubmatch(page, -1) {
		names = append(names, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}
