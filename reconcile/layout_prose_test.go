package reconcile_test

import (
	"go/ast"
	"regexp"
	"slices"
)

func sleepingTests(t *tree) []finding {
	return callsInTests(t, "sleeps; wait for a signal or use testing/synctest", func(f *ast.SelectorExpr) bool {
		x, ok := f.X.(*ast.Ident)
		return ok && x.Name == "time" && f.Sel.Name == "Sleep"
	})
}

func skippedTests(t *tree) []finding {
	return callsInTests(t, "can skip, and a skipped test holds nothing; install what it needs in .ci/deps, or fail", func(f *ast.SelectorExpr) bool {
		return slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name)
	})
}

// callsInTests finds the test functions that call something of the given form.
func callsInTests(t *tree, what string, is func(*ast.SelectorExpr) bool) (found []finding) {
	for _, s := range t.goFiles(isTest) {
		s.functions(func(name string, f *ast.FuncDecl) {
			hit := false
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
						hit = hit || is(sel)
					}
				}
				return !hit
			})
			if hit {
				found = append(found, finding{s.path + " " + name, what})
			}
		})
	}
	return found
}

// aLineNumber is a reference that the next edit makes wrong.
var aLineNumber = regexp.MustCompile(`(?i)\blines? [0-9]+\b|\.go:[0-9]+|#L[0-9]+`)

func lineNumbers(t *tree) (found []finding) {
	for _, s := range t.sources {
		for _, text := range s.prose() {
			if m := aLineNumber.FindString(text); m != "" {
				found = append(found, finding{s.path, "refers to " + m + ", which the next edit makes wrong; name the function or the section"})
			}
		}
	}
	return found
}

// prose is what the source says to its reader: a page whole, of a Go file the comments.
func (s source) prose() []string {
	if s.file == nil {
		return []string{s.text}
	}
	var texts []string
	for _, group := range s.file.Comments {
		texts = append(texts, group.Text())
	}
	return texts
}

// postponed matches the words for work put off. (The brackets keep this file from finding itself.)
var postponed = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b|(?i)\bnot (yet )?impl[e]mented\b|\bfor no[w]\b`)

func unfinished(t *tree) (found []finding) {
	for _, s := range t.sources {
		if m := postponed.FindString(s.text); m != "" {
			found = append(found, finding{s.path, "says " + m + "; finish it, or say what holds and why"})
		}
	}
	return found
}
