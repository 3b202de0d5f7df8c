package gopkg

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/signature"
	"distaff/codegen/operand"
	"distaff/io/tensor"
)

// goTypes maps types of values to Go types.
var goTypes = map[tensor.Type]string{
	tensor.Bool: "bool", tensor.Int8: "int8", tensor.Int16: "int16", tensor.Uint8: "uint8",
	tensor.Uint16: "uint16", tensor.Uint32: "uint32", tensor.Uint64: "uint64",
	tensor.Int32: "int32", tensor.Int64: "int64", tensor.Float32: "float32", tensor.Float64: "float64",
	tensor.Complex64: "complex64", tensor.Complex128: "complex128",
}

// fields makes exported Go field names out of users' names. All names that it makes are different.
// Its keys are the names made so far.
type fields map[string]bool

// add returns the field name for a user's name: the name with a capital first letter. If an earlier
// name has the same field name, add appends underscores.
func (taken fields) add(name string) string {
	s := strings.ReplaceAll(name, "'", "_") // the name of a copy of a tensor in a second format
	s = strings.ToUpper(s[:1]) + s[1:]
	for taken[s] {
		s += "_"
	}
	taken[s] = true
	return s
}

// source is a package's main Go file while it is printed.
type source struct {
	strings.Builder
	pkg      *Package
	sig      *signature.Signature
	sizes    []string // the field names of Sizes, by variable
	operands []string // the field names of Operands, by argument
	result   string   // the Go type of the result
}

// source returns the text of the package's main Go file. sig is the signature of p.Unit.
func (p *Package) source(sig *signature.Signature) string {
	s := &source{pkg: p, sig: sig, result: "Tensor[" + goTypes[sig.Args[0].Type] + "]",
		operands: []string{""}}
	taken := fields{}
	for _, v := range sig.Vars {
		s.sizes = append(s.sizes, taken.add(v.Name))
	}
	taken = fields{}
	for k, a := range sig.Args[1:] {
		name := p.Unit.Args[k+1].Tensor
		if a.Old {
			name = "Old" + strings.ToUpper(name[:1]) + name[1:]
		}
		s.operands = append(s.operands, taken.add(name))
	}
	s.head()
	s.types()
	s.functions()
	s.ready()
	return s.String()
}

func (s *source) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// head prints the package comment.
func (s *source) head() {
	s.printf(`// Package %[1]s computes
//
//	%[2]s
//
// by a C function that Distaff made of it. It needs cgo and a C compiler with
// OpenMP; nothing of Distaff.
package %[1]s

`, s.pkg.Name, s.pkg.Statement)
}

// types prints the types Sizes and Operands.
func (s *source) types() {
	s.printf("// Sizes are the sizes of the statement's variables.\ntype Sizes struct {\n")
	for k, v := range s.sig.Vars {
		s.printf("%s int64 // %s\n", s.sizes[k], v.Name)
	}
	s.printf("}\n\n// Operands are what the statement reads.\ntype Operands struct {\n")
	for k, a := range s.sig.Args[1:] {
		s.printf("%s Tensor[%s] // %s\n", s.operands[k+1], goTypes[a.Type], describe(a))
	}
	s.printf("}\n\n")
}

// describe returns the comment that an operand's field gets in the type Operands.
func describe(a signature.Arg) string {
	text := "levels " + levelsText(a.Format)
	if a.Convert {
		text = a.Tensor + " in another order than it was asked for, " + text
	}
	if a.Old {
		text = "what is added to, " + text
	}
	return text
}

// levelsText returns a format as users write it, or a description if it has no levels.
func levelsText(f tensor.Format) string {
	if len(f.Levels) == 0 {
		return "none (a scalar: one value)"
	}
	return f.String()
}

const run = `// Run computes %[1]s
// on 1 or more threads. The result is %[2]s, levels %[3]s%[4]s.
func Run(n Sizes, in Operands, threads int) (%[5]s, error) {
`

// functions prints the functions Run and RunInto. It leaves RunInto out in one case: the leaf makes
// level arrays for its result, and the package has no second leaf that computes only values (see
// Values).
func (s *source) functions() {
	left, r := s.sig.Args[0], s.sig.Result
	levels := levelsText(left.Format)
	if r.Repack {
		levels += fmt.Sprintf(" (the leaf makes no %s)",
			levelsText(s.pkg.Unit.Request.Tensors.All[left.Tensor].Format))
	}
	pattern := ""
	if r.Shares >= 0 {
		pattern = ", whose arrays are\n// those of in." + s.operands[r.Shares]
	}
	s.printf(run, s.pkg.Statement, left.Tensor, levels, pattern, s.result)
	if r.Dense || r.Shares >= 0 {
		s.printf(
			"\tvar out %[1]s\n\tif err := RunInto(&out, n, in, threads); err != nil {\n\t\treturn %[1]s{}, err\n\t}\n\treturn out, nil\n}\n\n", s.result)
	} else {
		s.printf(
			"\tc := ready(n, &in, threads)\n\tdefer c.free()\n%s\tbindLevels(c, result(n))\n\tc.run(0)\n\tout := published[%s](c, result(n))\n\treturn out, c.err\n}\n\n",
			s.positions(), goTypes[left.Type])
	}
	how := ""
	switch {
	case r.Dense:
		s.printf(
			"// RunInto computes what Run does into the memory of out.Vals, which is allocated where it\n// is nil.")
		how = "\tdense(c, result(n), out)\n\tc.run(0)\n"
	case r.Shares >= 0:
		deep := len(left.Levels) - 1 - left.Format.TrailingDense()
		s.printf(
			"// RunInto computes what Run does into the memory of out.Vals, which is allocated where it\n// is nil. out's levels become those of in.%s.", s.operands[r.Shares])
		how = fmt.Sprintf("\tshared(c, result(n), in.%s.Levels, %d, out)\n\tc.run(0)\n",
			s.operands[r.Shares], deep)
	case s.pkg.Values != nil:
		s.printf(
			"// RunInto computes values alone, into a former result of Run over operands with the same\n// patterns. A value for which out's pattern has no place is an error.")
		how = "\tpattern(c, result(n), out)\n\tc.run(1)\n"
	default:
		return
	}
	old := ""
	for k, a := range s.sig.Args {
		if a.Old {
			old += fmt.Sprintf("\tapart(&in.%s, out)\n", s.operands[k])
			s.printf(" in.%s may be in the same\n// memory.", s.operands[k])
		}
	}
	s.printf(
		" After\n// an error out's values are undefined.\nfunc RunInto(out *%s, n Sizes, in Operands, threads int) error {\n%s\tc := ready(n, &in, threads)\n\tdefer c.free()\n%s\treturn c.err\n}\n\n", s.result, old, how)
}

// positions returns Go code that checks whether 32-bit pos arrays can hold the positions of a
// result whose level arrays the leaf makes.
func (s *source) positions() string {
	var b strings.Builder
	size := func(v int) string { return "float64(n." + s.sizes[v] + ")" }
	var dims []string
	for l, lev := range s.sig.Args[0].Levels {
		dims = append(dims, size(lev.Var))
		if lev.Pos == 4 {
			fmt.Fprintf(&b, "\tc.fits32(%d, min(%s, %s))\n", l, strings.Join(dims, "*"), s.entries())
		}
	}
	return b.String()
}

// entries returns operand.Entries as a Go expression. If the statement accumulates by +=, the
// expression also adds the number of the old values that the result had before the call.
func (s *source) entries() string {
	vars := map[string]int{}
	for k, v := range s.sig.Vars {
		vars[v.Name] = k
	}
	stored := func(tensor string) string {
		for k, a := range s.sig.Args[1:] {
			if a.Tensor == tensor && !a.Old {
				return "float64(len(in." + s.operands[k+1] + ".Vals))"
			}
		}
		return "unbounded"
	}
	text := operand.Entries(signature.Normal(s.pkg.Unit), operand.Counting[string]{
		Stored: stored,
		Size:   func(v string) string { return "float64(n." + s.sizes[vars[v]] + ")" },
		Times:  func(x, y string) string { return x + "*" + y },
		Plus:   func(x, y string) string { return x + "+" + y },
		Least:  func(x, y string) string { return "min(" + x + ", " + y + ")" },
		Any:    "unbounded",
	})
	for k, a := range s.sig.Args[1:] {
		if a.Old {
			text += "+float64(len(in." + s.operands[k+1] + ".Vals))"
		}
	}
	return text
}

// ready prints two functions. The printed function ready makes a call with sizes and operands,
// after checking them. The printed function result returns the expected levels of the result.
func (s *source) ready() {
	var levels []string
	for _, a := range s.sig.Args {
		levels = append(levels, fmt.Sprint(len(a.Levels)))
	}
	s.printf(
		"// ready makes a call with these arguments, once they are checked.\nfunc ready(n Sizes, in *Operands, threads int) *call {\n\tc := newCall(threads, %d, %s)\n", len(s.sizes), strings.Join(levels, ", "))
	for k, v := range s.sig.Vars {
		s.printf("\tc.size(%q, \"Sizes.%s\", n.%s, %d)\n", v.Name, s.sizes[k], s.sizes[k], v.MaxSize)
	}
	for _, x := range s.sig.Same {
		s.printf(
			"\tc.same(\"Sizes.%[1]s\", n.%[1]s, \"Sizes.%[2]s\", n.%[2]s, \"mode %[3]d of %[4]s\")\n",
			s.sizes[x.A], s.sizes[x.B], x.Mode, x.Tensor)
	}
	for k, a := range s.sig.Args[1:] {
		s.printf("\toperand(c, %[1]d, \"%[2]s\", %[3]s, &in.%[2]s)\n", k+1, s.operands[k+1], s.wants(a))
	}
	s.printf(
		"\treturn c\n}\n\n// result is the levels of %s.\nfunc result(n Sizes) []want {\n\treturn %s\n}\n", s.sig.Args[0].Tensor, s.wants(s.sig.Args[0]))
}

// wants returns a Go expression for the levels that the leaf expects of an argument.
func (s *source) wants(a signature.Arg) string {
	var b strings.Builder
	b.WriteString("[]want{")
	for _, lev := range a.Levels {
		size := s.sizes[lev.Var]
		fmt.Fprintf(&b, "\n{kind: '%c', size: n.%s, of: \"Sizes.%s\"", lev.Kind, size, size)
		if lev.Pos != 0 {
			fmt.Fprintf(&b, ", pos: %d", lev.Pos)
		}
		if lev.Crd != 0 {
			fmt.Fprintf(&b, ", crd: %d", lev.Crd)
		}
		if lev.Order.End != 0 {
			fmt.Fprintf(&b, ", end: %d, unique: %d", lev.Order.End, lev.Order.Unique)
		}
		if lev.Order.Repeats {
			b.WriteString(", repeats: true")
		}
		b.WriteString("},")
	}
	if len(a.Levels) > 0 {
		b.WriteString("\n")
	}
	return b.String() + "}"
}
