package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/notation"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// renamed returns the case with other names of tensors and variables. Their alphabetical order is
// reversed, because a leaf must not depend on the order of names.
func renamed(c *Case) (*Case, error) {
	s, err := notation.Parse(c.Stmt)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	other := func(list []string) {
		for n, v := range list {
			if v == "" {
				continue
			}
			if vars[v] == "" {
				vars[v] = fmt.Sprintf("zyxwvutsrqponml"[len(vars):][:1]+"_%d", len(vars))
			}
			list[n] = vars[v]
		}
	}
	tensors := map[string]string{}
	for n, t := range slices.Backward(c.Tensors) {
		tensors[t.Name] = fmt.Sprintf("%c_tensor%d", 'A'+len(c.Tensors)-n, n)
	}
	var rename func(e notation.Expr) bool
	rename = func(e notation.Expr) bool {
		switch e := e.(type) {
		case *notation.Access:
			other(e.Vars)
			e.Name = tensors[e.Name]
			for _, x := range e.Index {
				if x != nil {
					notation.Walk(x, rename)
				}
			}
		case *notation.Coordinate:
			list := []string{e.Var}
			other(list)
			e.Var = list[0]
		case *notation.Sum:
			other(e.Vars)
		}
		return true
	}
	rename(s.LHS)
	notation.Walk(s.RHS, rename)
	out := c.Clone()
	op := " = "
	if s.Accumulate {
		op = " += "
	}
	out.Stmt = notation.ExprString(s.LHS) + op + notation.ExprString(s.RHS)
	for _, t := range out.Tensors {
		t.Name = tensors[t.Name]
	}
	return out, nil
}

// TestUnnamed checks that statements that differ only in names have the same C text.
func TestUnnamed(t *testing.T) {
	text := func(c *Case) (unnamed, named string) {
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Text())
		}
		made, err := compile(p, "leaf")
		if err != nil {
			return "refused", ""
		}
		defer made.close()
		for _, u := range []*codegen.Unit{made.unit, made.values} {
			if u != nil {
				unnamed += emitc.Unnamed(u.Func)
				named += emitc.File(u.Func)
			}
		}
		return unnamed, named
	}
	differ := 0
	for k := range uint64(400) {
		c := Generate(Rand(*seedFlag, k), Options{})
		other, err := renamed(c)
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Text())
		}
		u, n := text(c)
		v, m := text(other)
		if u != v {
			t.Errorf("case %d: another leaf under other names\n%s\n%s", k, c.Stmt, other.Stmt)
		}
		if n != m {
			differ++
		}
	}
	if differ < 200 {
		t.Errorf("names differ in the texts for people of %d cases, want most", differ)
	}
}

// TestRunTexts checks that the engine C compiles the same texts as a backend does.
func TestRunTexts(t *testing.T) {
	e, err := NewC(os.Getenv, "-O0")
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := kernels.NewC(cc.Config{Flags: []string{"-O0"}, Path: os.Getenv("PATH"), CPU: cc.NoCPU})
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(20) {
		p, err := Generate(Rand(*seedFlag, k), Options{}).Prepare()
		if err != nil {
			t.Fatal(err)
		}
		made, err := compile(p, "leaf")
		if err != nil {
			continue
		}
		u := made.unit
		want, _, _ := strings.Cut(b.Key(u), ".")
		if got, _, _ := strings.Cut(cc.Name(e.text(u.Func), "", nil, nil), "."); got != want {
			t.Errorf("%s: another text than a job's leaf has: key %s, want %s", p.Case.Stmt, got, want)
		}
		made.close()
	}
}

// TestUnnamedBits checks that the texts that jobs compile, whose numbers the caller passes, give
// the same bits as the texts that are printed for people.
func TestUnnamedBits(t *testing.T) {
	unnamed, err := NewC(os.Getenv, "-O3")
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	named := *unnamed
	named.people = true
	n := uint64(40)
	if *nFlag > 0 {
		n = *nFlag
	}
	var list []*Case
	for k := *firstFlag; uint64(len(list)) < n; k++ {
		c := rounding(*seedFlag, k)
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Text())
		}
		made, err := compile(p, "leaf")
		if err != nil {
			continue
		}
		if len(emitc.Values(made.unit.Func)) > 0 {
			list = append(list, c)
		}
		made.close()
	}
	compareBits(context.Background(), t, &named, unnamed, list, "with numbers from the caller")
}
