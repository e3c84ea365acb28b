package reconcile_test

import (
	"fmt"
	"go/ast"
	"strings"
)

// The bounds are where a reader starts to lose the thread; most files and functions are half as long.
const (
	maxFile     = 300
	maxFunction = 60
)

func outOfBounds(t *tree) (found []finding) {
	for _, s := range t.goFiles(isCode) {
		if n := strings.Count(s.text, "\n"); n > maxFile {
			found = append(found, finding{s.path, fmt.Sprintf("has %d lines, the bound is %d; split it by subject", n, maxFile)})
		}
		s.functions(func(name string, f *ast.FuncDecl) {
			n := t.fset.Position(f.End()).Line - t.fset.Position(f.Pos()).Line + 1
			if n > maxFunction {
				what := fmt.Sprintf("has %d lines, the bound is %d; name its parts and move them out", n, maxFunction)
				found = append(found, finding{s.path + " " + name, what})
			}
		})
	}
	return found
}
