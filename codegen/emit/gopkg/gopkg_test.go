package gopkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"spmv", "spmv"}, {"SpMV-2", "spmv2"}, {"2nd", "nd"}, {"", "leaf"}, {"...", "leaf"},
		{"func", "leaf"}, {"main", "leaf"}, {"übung", "bung"},
	} {
		if got := Name(c.in); got != c.want {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
	}
}

// TestFields checks that users' names become different exported fields, and that the C code is
// named after the leaf alone.
func TestFields(t *testing.T) {
	stmt, err := notation.Parse("Y(i,I) = a(i,I) * A(I,i) + a(i,I)")
	if err != nil {
		t.Fatal(err)
	}
	csr, err := notation.ParseFormat("ds")
	if err != nil {
		t.Fatal(err)
	}
	operand := codegen.Tensor{Format: csr, Type: tensor.Float64, Dims: []int64{4, 4},
		PosWidth: []uint8{0, 4}, CrdWidth: []uint8{0, 4}, NNZ: 5}
	result := codegen.Tensor{Format: csr, Type: tensor.Float64, Dims: []int64{4, 4}, NNZ: -1}
	u, err := codegen.Compile(codegen.Request{
		Statement: codegen.Statement{Stmt: stmt},
		Tensors:   codegen.Tensors{All: map[string]codegen.Tensor{"Y": result, "a": operand, "A": operand}, Sizes: map[string]int64{"i": 4, "I": 4}},
		Ask:       codegen.Ask{Name: "both"},
	})
	if err != nil {
		t.Fatal(err)
	}
	types := make([]tensor.Type, len(u.Args))
	for k := range types {
		types[k] = tensor.Float64
	}
	files := (&Package{Name: "both", Statement: stmt.String(), Unit: u, Types: types}).Files()
	f, err := parser.ParseFile(token.NewFileSet(), "both.go", files["both.go"], 0)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if st, ok := s.Type.(*ast.StructType); ok {
				for _, x := range st.Fields.List {
					for _, name := range x.Names {
						fields[s.Name.Name] = append(fields[s.Name.Name], name.Name)
					}
				}
			}
		}
		return true
	})
	if got := strings.Join(fields["Sizes"], " "); got != "I I_" {
		t.Errorf("sizes: got %s, want I I_", got)
	}
	if got := strings.Join(fields["Operands"], " "); got != "A A_" {
		t.Errorf("operands: got %s, want A A_", got)
	}
	for name, text := range files {
		for _, placeholder := range []string{"LEAF", "PACKAGE", "CALL;"} {
			if strings.Contains(text, placeholder) {
				t.Errorf("%s holds the placeholder %s", name, placeholder)
			}
		}
	}
	if !strings.Contains(files["call.c"], " both(c->t, ") ||
		!strings.Contains(files["leaf.c"], "int both(") ||
		!strings.Contains(files["leaf.h"], "int both(") {
		t.Error("the C function is not called both")
	}
}
