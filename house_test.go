package breaker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goFiles parses every Go file in the repository, nested modules included.
func goFiles(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set, files := token.NewFileSet(), map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files[path], err = parser.ParseFile(set, path, nil, parser.ParseComments)
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return set, files
}

func TestEveryPackageHasOneDoc(t *testing.T) {
	docs := map[string][]string{} // by directory
	_, files := goFiles(t)
	for path, file := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		dir := filepath.Dir(path)
		docs[dir] = append(docs[dir], nil...) // a package without any is to be seen too
		if file.Doc != nil {
			docs[dir] = append(docs[dir], path)
		}
	}
	for dir, in := range docs {
		require.Len(t, in, 1, "package docs in directory %s: %v", dir, in)
	}
}

// Tests sleep only where time is fake: within synctest.Test, or in a helper that only such
// places name.
func TestNoTestSleepsOnTheRealClock(t *testing.T) {
	set, files := goFiles(t)
	sleepers := map[string]bool{} // by directory and name
	for path, file := range files {
		for _, decl := range file.Decls {
			outsideBubbles(decl, func(node ast.Node) {
				f, ok := decl.(*ast.FuncDecl)
				if !strings.HasSuffix(path, "_test.go") || !isSelector(node, "time", "Sleep") {
					return
				}
				helper := ok && !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Benchmark")
				require.True(t, helper, "%v: time.Sleep on the real clock", set.Position(node.Pos()))
				sleepers[filepath.Join(filepath.Dir(path), f.Name.Name)] = true
			})
		}
	}
	for path, file := range files {
		outsideBubbles(file, func(node ast.Node) {
			if name, ok := node.(*ast.Ident); ok && (name.Obj == nil || name.Obj.Pos() != name.Pos()) {
				require.False(t, sleepers[filepath.Join(filepath.Dir(path), name.Name)],
					"%v: %s sleeps, on the real clock here", set.Position(name.Pos()), name.Name)
			}
		})
	}
}

// outsideBubbles visits the nodes that no call of synctest.Test encloses.
func outsideBubbles(root ast.Node, visit func(ast.Node)) {
	ast.Inspect(root, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && isSelector(call.Fun, "synctest", "Test") {
			return false
		}
		if node != nil {
			visit(node)
		}
		return true
	})
}

func isSelector(node ast.Node, pkg, name string) bool {
	s, ok := node.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
