package ir

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"distaff/codegen/algebra"
	"distaff/io/tensor"
)

// exprSamples returns pairs of expressions of one type that differ in every field. A Unary has a
// pair for each unary operator.
func exprSamples() (pairs [][2]Expr) {
	v := func(name string) *Var { return NewVar(name, tensor.Int64) }
	cond := func(name string) *Var { return NewVar(name, tensor.Bool) }
	a, b := NewArray("a", tensor.Float64), NewArray("b", tensor.Int32)
	pairs = [][2]Expr{
		{v("x"), cond("y")},
		{&Lit{tensor.Int32, 1, 2, 3}, &Lit{tensor.Int64, 4, 5, 6}},
		{&Binary{Sub, v("x"), v("y")}, &Binary{Mul, v("z"), v("u")}},
		{&Load{a, v("x"), false}, &Load{b, v("y"), true}},
		{&Cast{tensor.Float64, v("x")}, &Cast{tensor.Int32, v("y")}},
		{&Select{cond("c"), v("x"), v("y")}, &Select{cond("d"), v("z"), v("u")}},
		{&Apply{algebra.Find("pow"), v("x"), v("y")}, &Apply{algebra.Find("atan2"), v("z"), v("u")}},
		{&Search{a, v("lo"), v("hi"), v("x"), false}, &Search{b, v("from"), v("to"), v("y"), true}},
	}
	for op := Neg; int(op) < len(opNames); op++ {
		other := Neg
		if op == Neg {
			other = Not
		}
		pairs = append(pairs, [2]Expr{&Unary{op, cond("c")}, &Unary{other, cond("d")}})
	}
	return pairs
}

// TestEveryExpr checks for each type of expression that operands returns all fields of type Expr,
// that Rebuild replaces them and keeps the other fields, that ArrayOf returns the array, and that
// Same compares all fields.
func TestEveryExpr(t *testing.T) {
	text, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile(`\(\w+ \*(\w+)\) Type\(\)`).FindAllSubmatch(text, -1) {
		missing["*ir."+string(m[1])] = true
	}
	exprType, arrayType := reflect.TypeFor[Expr](), reflect.TypeFor[*Array]()
	for _, pair := range exprSamples() {
		x, name := pair[0], fmt.Sprintf("%T", pair[0])
		delete(missing, name)
		one, two := reflect.ValueOf(x).Elem(), reflect.ValueOf(pair[1]).Elem()
		replaced := reflect.New(one.Type()) // x with the other operands
		replaced.Elem().Set(one)
		var own, others []Expr
		var array *Array
		for k := range one.NumField() {
			field := name + "." + one.Type().Field(k).Name
			if reflect.DeepEqual(one.Field(k).Interface(), two.Field(k).Interface()) {
				t.Errorf("the samples do not differ in %s", field)
			}
			changed := reflect.New(one.Type())
			changed.Elem().Set(one)
			changed.Elem().Field(k).Set(two.Field(k))
			// two literals are the same at any places in the statement
			if got := Same(x, changed.Interface().(Expr)); got != (field == "*ir.Lit.At") {
				t.Errorf("Same of %s and of a copy with another %s is %v", x, field, got)
			}
			switch one.Field(k).Type() {
			case exprType:
				own = append(own, one.Field(k).Interface().(Expr))
				others = append(others, two.Field(k).Interface().(Expr))
				replaced.Elem().Field(k).Set(two.Field(k))
			case arrayType:
				array = one.Field(k).Interface().(*Array)
			}
		}
		same := reflect.New(one.Type())
		same.Elem().Set(one)
		if _, isVar := x.(*Var); !isVar && !Same(x, same.Interface().(Expr)) {
			t.Errorf("%s is not the same as its copy", x)
		}
		if list, n := operands(x); !slices.Equal(list[:n], own) {
			t.Errorf("the operands of %s are %v, want %v", x, list[:n], own)
		}
		rebuilt := Rebuild(x, func(y Expr) Expr {
			k := slices.Index(own, y)
			if k < 0 {
				t.Fatalf("Rebuild of %s replaces %v, which is no operand", x, y)
			}
			return others[k]
		})
		if !reflect.DeepEqual(rebuilt, replaced.Interface()) {
			t.Errorf("Rebuild of %s returns %s, want %s", x, rebuilt, replaced.Interface())
		}
		if got := ArrayOf(x); got != array {
			t.Errorf("ArrayOf(%s) is %v, want %v", x, got, array)
		}
	}
	for name := range missing {
		t.Errorf("exprSamples lacks %s", name)
	}
}
