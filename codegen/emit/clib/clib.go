// Package clib prints a compiled statement for programs in C and C++, and in languages that can
// call C. It prints NAME.c, which contains the leaf, and NAME.h, which declares the leaf and
// documents its arguments.
package clib

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/c"
	"distaff/codegen/emit/signature"
	"distaff/codegen/ir"
)

// Leaf is a leaf to print.
type Leaf struct {
	Func      *ir.Func
	Signature *signature.Signature
}

// Source returns the text of a C file with the given leaves, without a comment at its start.
func Source(leaves ...Leaf) string {
	funcs := make([]*ir.Func, len(leaves))
	for k, l := range leaves {
		funcs[k] = l.Func
	}
	return optimize + c.File(funcs...)
}

// optimize is C text with pragmas that replace compiler flags, because a program that includes the
// library may be built without the flags. A product and a sum are not fused into one operation.
// With GCC, integers also wrap around, and floating-point arithmetic is relaxed in ways that do not
// change values.
const optimize = `#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("wrapv", "no-math-errno", "no-trapping-math", "fp-contract=off")
#endif
`

// Files returns the texts of NAME.c and NAME.h, by file name.
func Files(name string, leaves ...Leaf) map[string]string {
	var statement string
	if len(leaves) > 0 {
		statement = leaves[0].Signature.Statement
	}
	head := fmt.Sprintf(
		"/* %s, compiled by Distaff. %s.h declares it. To compile:\n *\n *     cc %s -c %s.c\n */\n",
		statement, name, strings.Join(c.Flags("native"), " "), name)
	return map[string]string{name + ".c": head + Source(leaves...),
		name + ".h": Header(name, leaves...)}
}

// Header returns the declarations of leaves, for C99 and for C++.
func Header(name string, leaves ...Leaf) string {
	guard := "DISTAFF_" + strings.ToUpper(c.Symbol(name)) + "_H"
	var b strings.Builder
	fmt.Fprintf(&b,
		"#ifndef %s\n#define %s\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n%s", guard, guard, c.Header())
	for _, l := range leaves {
		fmt.Fprintf(&b, "\n%sint %s(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env);\n",
			comment(l.describe()), c.Symbol(l.Func.Name))
	}
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return b.String()
}

// comment formats lines as a C comment.
func comment(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.ReplaceAll("/* "+strings.Join(lines, "\n * ")+"\n */\n", " \n", "\n")
}

// describe says what a leaf computes and what it requires.
func (l Leaf) describe() string {
	var b strings.Builder
	s := l.Signature
	fmt.Fprintf(&b, "%s computes\n\n    %s\n\n", c.Symbol(l.Func.Name), s.Statement)
	if s.Result.Pattern {
		b.WriteString("into a result whose level arrays are there.\n\n")
	}
	if len(s.Vars) > 0 {
		b.WriteString("bounds[k] is {0, size} of a variable:")
		for k, v := range s.Vars {
			fmt.Fprintf(&b, " %s is %d,", v.Name, k)
		}
		text := strings.TrimSuffix(b.String(), ",") + ".\n"
		b.Reset()
		b.WriteString(text)
		for _, same := range s.Same {
			fmt.Fprintf(&b, "%s and %s have one size, as mode %d of %s.\n", s.Vars[same.A].Name,
				s.Vars[same.B].Name, same.Mode, same.Tensor)
		}
	}
	b.WriteString(
		"Nothing is checked: arrays must be as described here, and an array that is written " +
			"must\nnot overlap another. Coordinates that are not sorted, or that repeat, give " +
			"wrong values.\n")
	for k := range s.Args {
		b.WriteString("\n" + argument(s, k))
	}
	return b.String()
}
