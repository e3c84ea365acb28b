package reconcile_test

import (
	"go/ast"
	"slices"
)

// undocumented finds exported names without a comment. A method is exported when its type is; the methods whose meaning
// an interface of the standard library fixes need none.
func undocumented(t *tree) (found []finding) {
	described := map[string]bool{}
	files := t.goFiles(func(s source) bool { return isCode(s) && s.file.Name.Name != "main" })
	for _, s := range files {
		described[s.pkg()] = described[s.pkg()] || s.file.Doc != nil
		for _, name := range bare(s.file) {
			found = append(found, finding{s.path + " " + name, "is exported without a comment; say what it promises, or unexport it"})
		}
	}
	for _, s := range files {
		if !described[s.pkg()] {
			described[s.pkg()] = true // once a package
			found = append(found, finding{s.pkg(), "has no package comment; say in one file what it is for and what it does not do"})
		}
	}
	return found
}

// bare is every exported name of the file that has no comment.
func bare(file *ast.File) (names []string) {
	note := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		if id.IsExported() && !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil }) {
			names = append(names, id.Name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			known := d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "String"}, d.Name.Name)
			if !known && (d.Recv == nil || ast.IsExported(receiver(d))) {
				note(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					note(spec.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						note(id, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return names
}

func initFunctions(t *tree) (found []finding) {
	for _, s := range t.goFiles(anyFile) {
		s.functions(func(name string, _ *ast.FuncDecl) {
			if name == "init" {
				found = append(found, finding{s.path, "has an init function, which runs at every start, used or not; build it where it is used"})
			}
		})
	}
	return found
}
