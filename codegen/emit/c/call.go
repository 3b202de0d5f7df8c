package c

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/ir"
)

// call prints a call of a user's C function. The leaf does not call the function directly, but
// through a static function that has the types of the call.
func (f *cfunc) call(s *ir.Call) {
	k := slices.IndexFunc(f.leaf.file.calls,
		func(t *ir.Call) bool { return t.Func.Name == s.Func.Name && t.Func.Text == s.Func.Text })
	if k < 0 {
		k = len(f.leaf.file.calls)
		f.leaf.file.calls = append(f.leaf.file.calls, s)
	}
	args := make([]string, len(s.Args))
	for n, a := range s.Args {
		if args[n] = f.expr(a.X, 0); a.A == nil {
			continue
		}
		// The address may be outside of the array, because the function adds strides to it. C has
		// no valid pointer expression for such an address, so a helper computes it.
		f.leaf.file.need("address")
		args[n] = fmt.Sprintf("dst_address(%s, %s, sizeof(%s))", f.Array(a.A), args[n], ctype(a.A.Elem))
	}
	f.Line("%s(%s);", standIn(k), strings.Join(args, ", "))
}

// standIn returns the name of the static function through which leaves call user function number k.
func standIn(k int) string { return fmt.Sprintf("dst_user_%d", k) }

// prototypes returns the declarations of the static functions through which leaves call the
// functions of the user.
func (f *file) prototypes() string {
	var b strings.Builder
	for k, s := range f.calls {
		fmt.Fprintf(&b, "\nstatic void %s(%s);\n", standIn(k), strings.Join(s.Types(), ", "))
	}
	return b.String()
}

// include matches the start of a line that includes a header whose name has only small letters, as
// in <math.h>.
var include = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*<[a-z]+\.h>`)

// userText returns the text of the user's files, each file once, and the static functions through
// which leaves call the user's functions. A pragma before each file hides the file's symbols from
// other libraries. Before this pragma come the file's #include lines of system headers (see
// include).
func (f *file) userText() string {
	var b strings.Builder
	var texts []string
	for k, s := range f.calls {
		if text := s.Func.Text; !slices.Contains(texts, text) {
			texts = append(texts, text)
			b.WriteByte('\n')
			for _, line := range include.FindAllString(text, -1) {
				b.WriteString(strings.TrimSpace(line) + "\n")
			}
			fmt.Fprintf(&b,
				"#pragma GCC visibility push(hidden)\n#line 1 %s\n%s\n"+
					"#line 1 \"leaf.c\"\n#pragma GCC visibility pop\n",
				strconv.Quote(plainName(s.Func.File)), text)
		}
		params, args := make([]string, len(s.Args)), make([]string, len(s.Args))
		for n, t := range s.Types() {
			args[n] = fmt.Sprintf("dst_%d", n)
			params[n] = strings.TrimSuffix(t, " *") + " "
			if strings.HasSuffix(t, "*") {
				params[n] += "*"
			}
			params[n] += args[n]
		}
		fmt.Fprintf(&b, "static void %s(%s) { %s(%s); }\n", standIn(k), strings.Join(params, ", "),
			s.Func.Name, strings.Join(args, ", "))
	}
	return b.String()
}

// plainName returns a file name that a C string can contain. An underscore replaces each character
// that would have to be escaped, and each character that is not ASCII.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '\\' || r == '"' {
			return '_'
		}
		return r
	}, name)
}
