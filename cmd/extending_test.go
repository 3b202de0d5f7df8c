package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExtending checks that everything in backquotes in docs/extending.md exists: paths, names that
// the code declares, tests, and targets of the Makefile.
func TestExtending(t *testing.T) {
	const page = "../docs/extending.md"
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names := declared(t)
	n := 0
	for k, line := range strings.Split(string(doc), "\n") {
		for _, quoted := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(line, -1) {
			n++
			text := quoted[1]
			words := strings.Fields(text)
			ok := false
			switch {
			case strings.HasPrefix(text, "go test "):
				ok = runs(words[2:], names)
			case strings.HasPrefix(text, "make "):
				ok = len(words) == 2 && strings.Contains(string(makefile), "\n"+words[1]+":")
			case names[text]:
				ok = true
			default:
				for _, root := range []string{"..", "../codegen"} {
					_, err := os.Stat(filepath.Join(root, text))
					ok = ok || err == nil
				}
			}
			if !ok {
				t.Errorf("%s:%d: the tree has no %s", page, k+1, text)
			}
		}
	}
	if n == 0 {
		t.Errorf("%s has nothing in backticks", page)
	}
}

// runs reports whether the arguments of go test name existing folders, and tests in these folders.
func runs(args []string, names map[string]bool) bool {
	var folder string
	for k, a := range args {
		if strings.HasPrefix(a, "./") {
			if _, err := os.Stat(filepath.Join("..", a)); err != nil {
				return false
			}
			folder = strings.TrimPrefix(a, "./")
		}
		if k > 0 && args[k-1] == "-run" && !names[folder+" "+a] {
			return false
		}
	}
	return true
}

// declared returns the names that the module declares, in the forms Name, package.Name and
// package.Type.Member. The names of tests have their folders.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := strings.TrimSuffix(f.Name.Name, "_test")
		add := func(name string) {
			names[name], names[pkg+"."+name] = true, true
			if strings.HasPrefix(name, "Test") {
				names[strings.TrimPrefix(filepath.Dir(path), "../")+" "+name] = true
			}
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				add(method(decl) + decl.Name.Name)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					addSpec(spec, add)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// method returns the receiver's type and a dot, or "" if f is not a method.
func method(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return "" // the receiver has a generic type
}

// addSpec calls add with the names that a declaration declares, and with the fields and methods of
// its types.
func addSpec(spec ast.Spec, add func(string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			add(name.Name)
		}
	case *ast.TypeSpec:
		add(spec.Name.Name)
		var fields *ast.FieldList
		switch typ := spec.Type.(type) {
		case *ast.StructType:
			fields = typ.Fields
		case *ast.InterfaceType:
			fields = typ.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				add(spec.Name.Name + "." + name.Name)
				add(name.Name)
			}
		}
	}
}
