package reconcile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The layout rules: what the compiler, vet and staticcheck do not hold. Each looks at the whole tree and says what is
// wrong, where, and what to do. Every rule has planted violations in layout_planted_test.go that show it can fail.
var rules = []struct {
	name string
	find func(*tree) []finding
}{
	{"top level", strayTopLevel},
	{"imports", forbiddenImports},
	{"bounds", outOfBounds},
	{"documented", undocumented},
	{"no init", initFunctions},
	{"no package state", packageState},
	{"no sleep", sleepingTests},
	{"no skip", skippedTests},
	{"no line numbers", lineNumbers},
	{"finished", unfinished},
	{"tests named", staleNames},
	{"cases explained", uncitedCases},
	{"links lead somewhere", deadLinks},
}

// exempt is what a rule lets stand, by rule and place ("file name", "file" or a package's folder), each with its reason.
// A row that no rule needs any more fails too.
var exempt = map[[2]string]string{
	{"no package state", "units/nspawn"}: "support of tests: how many machines the process holds is a fact of the process",
}

func TestLayout(t *testing.T) {
	tree := load(t)
	used := map[[2]string]bool{}
	for _, rule := range rules {
		found := rule.find(tree)
		found = slices.DeleteFunc(found, func(f finding) bool {
			file, _, _ := strings.Cut(f.where, " ")
			for _, place := range []string{f.where, file, path.Dir(file)} {
				if key := [2]string{rule.name, place}; exempt[key] != "" {
					used[key] = true
					return true
				}
			}
			return false
		})
		t.Run(rule.name, func(t *testing.T) {
			for _, f := range found {
				t.Errorf("%s: %s", f.where, f.what)
			}
		})
	}
	for key := range exempt {
		if !used[key] {
			t.Errorf("%s: nothing there breaks the rule %q any more; remove the exemption", key[1], key[0])
		}
	}
	for pkg := range table {
		if !slices.ContainsFunc(tree.sources, func(s source) bool { return s.pkg() == pkg && s.file != nil }) {
			t.Errorf("%s: a row of the import table without a package; remove the row", pkg)
		}
	}
}

// A finding is one broken rule. Its place is "file" or "file name", so that an edit above does not move it.
type finding struct{ where, what string }

// A tree is the module as text: its Go files, its pages (documentation and YAML), the names at its top, and all the
// other files and folders by name only.
type tree struct {
	fset    *token.FileSet
	sources []source
	top     []string
	names   []string
}

type source struct {
	path string // from the module's root, with slashes
	text string
	file *ast.File // nil for a page
}

func (s source) pkg() string  { return path.Dir(s.path) }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// load reads the module that this test is part of.
func load(t *testing.T) *tree {
	t.Helper()
	root := os.DirFS("..")
	if _, err := fs.Stat(root, "go.mod"); err != nil {
		t.Fatalf("finding the module's root: %v", err)
	}
	tree := &tree{fset: token.NewFileSet()}
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		tree.top = append(tree.top, e.Name())
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		tree.names = append(tree.names, name)
		if d.IsDir() {
			if foreign(root, name) {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(name) {
		case ".go", ".md", ".yml", ".yaml":
			text, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			return tree.add(name, string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// foreign tells whether a folder holds nothing that the rules are about: hidden, built, input of tests, another module.
func foreign(root fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || slices.Contains([]string{"bin", "dist", "testdata", "node_modules"}, base) {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func (t *tree) add(name, text string) error {
	s := source{path: name, text: text}
	if path.Ext(name) == ".go" {
		file, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.file = file
	}
	t.sources = append(t.sources, s)
	return nil
}

// goFiles is every Go file that keep wants.
func (t *tree) goFiles(keep func(source) bool) []source {
	var files []source
	for _, s := range t.sources {
		if s.file != nil && keep(s) {
			files = append(files, s)
		}
	}
	return files
}

func isCode(s source) bool { return !s.isTest() }
func isTest(s source) bool { return s.isTest() }
func anyFile(source) bool  { return true }

// functions calls do with each function of the file and its name: Sweep, Gate.Claim.
func (s source) functions(do func(name string, f *ast.FuncDecl)) {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				name = receiver(f) + "." + name
			}
			do(name, f)
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// topLevel is what may stand at the top of the repository, beside names that begin with a dot.
var topLevel = []string{
	"cmd", "reconcile", "units", "ansible", "docs",
	"go.mod", "go.sum", "tools.mod", "tools.sum", "Makefile",
	"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
	"bin", "dist", // built, not committed
}

func strayTopLevel(t *tree) (found []finding) {
	for _, name := range t.top {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			found = append(found, finding{name, "does not belong at the top; move it below cmd, reconcile, units, ansible or docs"})
		}
	}
	return found
}
