// Package lint checks C code of leaves and of users without a C compiler. It parses and types a
// file in about a millisecond, and returns the signatures of functions.
//
// It supports the C that leaves use: C99 with GNU's common builtins, the headers in include/
// (declarations of the functions that leaves use), and the type sizes of 64-bit Linux. It reads no
// file of the machine and ignores pragmas. It complements the compiler's own warnings and is not
// complete. For example, it accepts conversions between any pointer types.
package lint

import (
	"embed"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"distaff/codegen/ir"
	"distaff/io/tensor"

	"modernc.org/cc/v4"
)

//go:embed include/*.h
var headers embed.FS

// Error lists the faults of a source. It ends a run with code 1.
type Error struct {
	List []string // "FILE:LINE:COLUMN: words"
}

func (e *Error) Error() string { return strings.Join(e.List, "\n") }

func (e *Error) ExitCode() int { return 1 }

// Check parses and types src, a C translation unit.
func Check(src string) error {
	_, err := translate("leaf.c", src)
	return err
}

// Function returns the function called name that src defines. file is the name of src in errors.
func Function(file, src, name string) (*ir.Extern, error) {
	ast, err := translate(file, src)
	if err != nil {
		return nil, err
	}
	for _, n := range ast.Scope.Nodes[name] {
		d, ok := n.(*cc.Declarator)
		if !ok || !d.IsFuncDef() {
			continue
		}
		t, ok := d.Type().(*cc.FunctionType)
		if !ok {
			continue
		}
		f := &ir.Extern{File: file, Name: name, Text: src, Result: typeName(t.Result())}
		for _, p := range t.Parameters() {
			if p.Type().Kind() != cc.Void {
				f.Params = append(f.Params, typeName(p.Type()))
			}
		}
		if t.IsVariadic() {
			f.Params = append(f.Params, "...")
		}
		return f, nil
	}
	return nil, &Error{[]string{fmt.Sprintf("%s defines no function %s", file, name)}}
}

// numbers maps the kinds of C numbers that leaves use, and void, to their names.
var numbers = map[cc.Kind]string{
	cc.Void: "void", cc.Bool: ir.CType(tensor.Bool), cc.Int: ir.CType(tensor.Int32),
	cc.Long: ir.CType(tensor.Int64), cc.SChar: ir.CType(tensor.Int8), cc.Short: ir.CType(tensor.Int16),
	cc.UChar: ir.CType(tensor.Uint8), cc.UShort: ir.CType(tensor.Uint16),
	cc.UInt: ir.CType(tensor.Uint32), cc.ULong: ir.CType(tensor.Uint64),
	cc.Float: ir.CType(tensor.Float32), cc.Double: ir.CType(tensor.Float64),
	cc.ComplexFloat: ir.CType(tensor.Complex64), cc.ComplexDouble: ir.CType(tensor.Complex128),
}

// typeName returns the name of a type as leaves write it, or package cc's name for other types. It
// keeps the qualifiers of a pointer's target, except restrict.
func typeName(t cc.Type) string {
	if s, ok := numbers[t.Kind()]; ok {
		return s
	}
	p, ok := t.Decay().(*cc.PointerType)
	if !ok {
		return t.String()
	}
	elem, ok := numbers[p.Elem().Kind()]
	if !ok || p.Elem().Attributes().IsVolatile() {
		return t.String()
	}
	if p.Elem().Attributes().IsConst() {
		elem = "const " + elem
	}
	return elem + " *"
}

func translate(file, src string) (*cc.AST, error) {
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		panic("BUG: lint: " + err.Error())
	}
	prelude, err := headers.ReadFile("include/prelude.h")
	if err != nil {
		panic("BUG: lint: " + err.Error())
	}
	include, err := fs.Sub(headers, "include")
	if err != nil {
		panic("BUG: lint: " + err.Error())
	}
	ast, err := cc.Translate(&cc.Config{
		ABI: abi, FS: include, FSOnly: true, ExpansionLimit: 1 << 20,
		IncludePaths: []string{"."}, SysIncludePaths: []string{"."},
	}, []cc.Source{{Name: "prelude.h", Value: prelude}, {Name: file, Value: src}})
	if err != nil {
		return nil, &Error{words(file, err)}
	}
	if list := wrongCalls(ast); len(list) > 0 {
		return nil, &Error{list}
	}
	return ast, nil
}

// words returns the lines of the parser's error, without the parser's internal notes.
func words(file string, err error) []string {
	var list []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "TODO") {
			continue
		}
		if i := strings.LastIndex(line, " (check.go:"); i >= 0 {
			line = line[:i]
		}
		list = append(list, line)
	}
	if len(list) == 0 {
		list = []string{file + ": " + err.Error()}
	}
	return list
}

// wrongCalls finds calls of undeclared functions, and calls with too few or too many arguments. The
// type check accepts both.
func wrongCalls(ast *cc.AST) []string {
	var list []string
	walk(reflect.ValueOf(ast.TranslationUnit), map[uintptr]bool{}, func(n *cc.PostfixExpression) {
		if n.Case != cc.PostfixExpressionCall {
			return
		}
		callee, ok := n.PostfixExpression.(*cc.PrimaryExpression)
		if !ok || callee.Case != cc.PrimaryExpressionIdent {
			return
		}
		name := callee.Token.SrcStr()
		// The parser invents a declaration if there is none.
		d, _ := callee.ResolvedTo().(*cc.Declarator)
		if callee.ResolvedTo() == nil || d != nil && d.IsSynthetic() {
			if !knownBuiltin(name) {
				list = append(list, fmt.Sprintf("%v: call of %s, which is not declared",
					n.Position(), name))
			}
			return
		}
		t, ok := callee.Type().(*cc.FunctionType)
		if !ok {
			if p, isPointer := callee.Type().(*cc.PointerType); isPointer {
				t, ok = p.Elem().(*cc.FunctionType)
			}
		}
		if !ok || t.MaxArgs() == 0 && len(t.Parameters()) == 0 {
			return
		}
		args := 0
		for l := n.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
			args++
		}
		if args < t.MinArgs() || !t.IsVariadic() && t.MaxArgs() >= 0 && args > t.MaxArgs() {
			list = append(list, fmt.Sprintf("%v: call of %s with %d arguments, want %d",
				n.Position(), name, args, t.MinArgs()))
		}
	})
	return list
}

// knownBuiltin reports whether a function is one of the compiler's builtins whose signature cannot
// be declared in C.
func knownBuiltin(name string) bool {
	return strings.HasPrefix(name, "__atomic_") || strings.HasPrefix(name, "__sync_") ||
		name == "__builtin_complex"
}

// walk calls the function visit once for each postfix expression below v. seen contains the
// addresses of the visited nodes, because a node can be in several fields of its parents.
func walk(v reflect.Value, seen map[uintptr]bool, visit func(*cc.PostfixExpression)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), seen, visit)
		}
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		if n, ok := v.Interface().(*cc.PostfixExpression); ok {
			visit(n)
		}
		walk(v.Elem(), seen, visit)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			// Only the tree itself, without tokens, scopes and types.
			if k := f.Type.Kind(); k == reflect.Pointer || k == reflect.Interface {
				if f.Type.Implements(nodeType) {
					walk(v.Field(i), seen, visit)
				}
			}
		}
	}
}

var nodeType = reflect.TypeFor[cc.Node]()
