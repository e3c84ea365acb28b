package reconcile_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// packageState finds package variables that are written after their declaration. Tables, sentinels and compiled
// expressions are not; registries, caches and hooks that a test swaps are.
func packageState(t *tree) (found []finding) {
	type unit struct{ dir, name string }
	packages := map[unit][]source{}
	for _, s := range t.goFiles(anyFile) {
		u := unit{s.pkg(), s.file.Name.Name}
		packages[u] = append(packages[u], s)
	}
	for _, sources := range packages {
		var files []*ast.File
		for _, s := range sources {
			files = append(files, s.file)
		}
		// Imports stay unresolved, and so do the errors: it is enough to know which name is which variable.
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		check := types.Config{Error: func(error) {}}
		pkg, _ := check.Check(sources[0].pkg(), t.fset, files, info)
		declared := map[types.Object]string{}
		for _, s := range sources {
			if !s.isTest() {
				for _, id := range variables(s.file) {
					declared[pkg.Scope().Lookup(id)] = s.path + " " + id
				}
			}
		}
		for _, s := range sources {
			for _, id := range written(s.file) {
				if where := declared[info.Uses[id]]; where != "" && info.Uses[id] != nil {
					delete(declared, info.Uses[id]) // once a variable
					found = append(found, finding{where, "is a package variable that " + s.path + " writes; make it a field or an argument"})
				}
			}
		}
	}
	return found
}

// variables is the names of the file's package variables.
func variables(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				for _, id := range spec.(*ast.ValueSpec).Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// written is every identifier at the root of something that the file assigns to, counts up, deletes from, takes the
// address of, or locks, stores into or sends on.
func written(file *ast.File) (ids []*ast.Ident) {
	note := func(targets ...ast.Expr) {
		for _, e := range targets {
			if id := rootOf(e); id != nil {
				ids = append(ids, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				note(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				note(n.Key, n.Value)
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.SendStmt:
			note(n.Chan)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X)
			}
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				if (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") && len(n.Args) > 0 {
					note(n.Args[0])
				}
			case *ast.SelectorExpr: // what sync and sync/atomic offer
				if slices.Contains([]string{"Lock", "RLock", "Store", "Swap", "Add", "CompareAndSwap", "LoadOrStore"}, f.Sel.Name) {
					note(f.X)
				}
			}
		}
		return true
	})
	return ids
}

// rootOf is the identifier that x, x.f, x[i], *x and (x) begin with.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
