package irtest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
)

// nodes returns the names of the statement and expression types of package ir.
func nodes(t *testing.T) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, s := range ir.Statements() {
		out[typeName(s)] = true
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "Type" {
			out["*ir."+fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name] = true
		}
	}
	return out
}

func typeName(s ir.Stmt) string { return fmt.Sprintf("%T", s) }

// TestEveryNode checks that the leaves contain every statement and expression of the IR except
// calls of user-provided C, every kind of loop and every operator. A test that runs all leaves then
// covers them.
func TestEveryNode(t *testing.T) {
	want := nodes(t)
	if len(want) < 40 {
		t.Fatalf("got %d kinds of nodes of package ir, want all", len(want))
	}
	delete(want, "*ir.SpMM") // no C is printed for it; kernels/cuda runs leaves that have it
	delete(want, "*ir.Call") // the interpreter has no C to call; spmd/oracle runs leaves that do
	kinds, ops := map[ir.ForKind]bool{}, map[ir.Op]bool{}
	for _, c := range irtest.All() {
		f := c.Func()
		ir.Walk(f.Body, func(s ir.Stmt) {
			delete(want, fmt.Sprintf("%T", s))
			if l, ok := s.(*ir.For); ok {
				kinds[l.Kind] = true
			}
		})
		ir.WalkExprs(f.Body, func(x ir.Expr) {
			delete(want, fmt.Sprintf("%T", x))
			switch x := x.(type) {
			case *ir.Binary:
				ops[x.Op] = true
			case *ir.Unary:
				ops[x.Op] = true
			}
		})
	}
	for name := range want {
		t.Errorf("no leaf has a %s", name)
	}
	for _, k := range []ir.ForKind{ir.Serial, ir.Parallel, ir.Vector, ir.Unrolled, ir.Blocks, ir.Warps,
		ir.Lanes} {
		if !kinds[k] {
			t.Errorf("no leaf has a loop of kind %v", k)
		}
	}
	for op := ir.Op(0); op.String() != fmt.Sprintf("op(%d)", op); op++ { // all that have a name
		if !ops[op] {
			t.Errorf("no leaf has operator %v", op)
		}
	}
}

// TestInputs checks that each leaf passes Verify and ends on its inputs as its case says, and that
// each call returns new and equal inputs.
func TestInputs(t *testing.T) {
	for _, c := range irtest.Cases() {
		f := c.Func()
		if err := ir.Verify(f); err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		args := c.Args()
		if !reflect.DeepEqual(args, c.Args()) && c.Name != "arith" &&
			c.Name != "applied" { // which have NaN
			t.Errorf("%s: other inputs at another call", c.Name)
		}
		prog, err := interp.Compile(f)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		fail, err := prog.Run(args, c.Bounds, interp.Env{Threads: 2, Steps: 1e8})
		code := ir.OK
		if fail != nil {
			code = fail.Code
		}
		if err != nil || code != c.Fail {
			t.Errorf("%s: ends with %v, %v, want %v", c.Name, code, err, c.Fail)
		}
		for k, a := range c.Args() {
			x, y := reflect.ValueOf(a.Vals.Data), reflect.ValueOf(args[k].Vals.Data)
			if x.IsValid() && y.IsValid() && x.Len() > 0 && x.Pointer() == y.Pointer() {
				t.Errorf("%s: argument %d of two calls is the same memory", c.Name, k)
			}
		}
	}
}
