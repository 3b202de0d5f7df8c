package oracle

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/schedule"
)

// grow multiplies the sizes and statistics of a request at random, so that choices that depend on
// them occur. The leaf is not run.
func grow(r *rand.Rand, q *codegen.Request) {
	f, g := []int64{1, 10, 1000, 100000}[r.IntN(4)], []int64{1, 10, 1000}[r.IntN(3)]
	row := []int64{1, 4, 16, 32, 300}[r.IntN(5)] // the factor of variables whose size is short
	short := int64(r.IntN(5))
	sizes := map[string]int64{}
	for v, n := range q.Tensors.Sizes {
		sizes[v] = n * f
		if n == short {
			sizes[v] = n * row
		}
	}
	q.Tensors.Sizes = sizes
	tensors := map[string]codegen.Tensor{}
	for name, t := range q.Tensors.All {
		if t.NNZ > 0 {
			t.NNZ = min(t.NNZ*f*g, 1<<40)
		}
		t.Counts = slices.Clone(t.Counts)
		for l := range t.Counts {
			t.Counts[l] *= f * int64(1+l*l*int(g%7))
		}
		tensors[name] = t
	}
	q.Tensors.All = tensors
	if r.IntN(2) == 0 {
		q.Target.LongRow, q.Target.ChunkWork, q.Target.FarBytes = 0, 0, 0
	}
	if r.IntN(2) == 0 {
		q.Target.GemmWork = 1 // treat even small products as matrix products
	}
	if r.IntN(2) == 0 {
		q.Target.MergeTime = 1 - q.Target.MergeTime // tables in place of merges, or by cost
	}
	if r.IntN(4) == 0 {
		q.Target.Threads = 1
	}
	q.Target.FlatFrom = 0 // a leaf that package flat makes has no commands
}

// roundTrip checks the printed schedule of a case's leaf, and returns its commands. The commands
// must produce the same C as the leaf. Each command can be omitted by itself, except the commands
// that determine the loops. Printing the rest adds the defaults that replace the omitted command,
// which must not change the C.
func roundTrip(t *testing.T, p *Prepared, r *rand.Rand) (list []string) {
	t.Helper()
	made, err := compileAs(p, "leaf", func(q *codegen.Request) error {
		grow(r, q)
		u, err := codegen.Compile(*q)
		if err != nil {
			return err
		}
		lines, err := codegen.Schedule(*q)
		if err != nil {
			return err
		}
		again := *q
		again.Ask.Schedule = []string{schedule.Text(lines)}
		v, err := codegen.Compile(again)
		if err != nil {
			return err
		}
		if got, want := c.File(v.Func), c.File(u.Func); got != want {
			t.Errorf("%s\nthe schedule\n%smakes another leaf:\n%s\nwant\n%s", p.Case.Text(),
				again.Ask.Schedule[0], got, want)
		}
		for _, l := range lines {
			list = append(list, l.Command)
		}
		for k, l := range list {
			again.Ask.Schedule = slices.Delete(slices.Clone(list), k, k+1)
			// These commands determine the loops and operands that other commands name.
			u, err := codegen.Compile(again)
			if err != nil && !strings.HasPrefix(l, "temporaries(") && !strings.HasPrefix(l, "substitute(") &&
				!strings.HasPrefix(l, "layout(") && !strings.HasPrefix(l, "lookup(") &&
				!strings.HasPrefix(l, "hoist(") {
				t.Errorf("%s\n-s=%s\nwithout %s: %v", p.Case.Text(), strings.Join(list, ","), l, err)
			}
			if err == nil {
				unsaid(t, p, again, c.File(u.Func))
			}
		}
		return nil
	})
	made.close()
	if err != nil {
		t.Errorf("%s: %v", p.Case.Text(), err)
	}
	return list
}

// unsaid prints a schedule that omits some defaults. The printed schedule includes them, and must
// produce the C text want.
func unsaid(t *testing.T, p *Prepared, q codegen.Request, want string) {
	t.Helper()
	lines, err := codegen.Schedule(q)
	if err != nil {
		t.Errorf("%s\n-s=%s: %v", p.Case.Text(), strings.Join(q.Ask.Schedule, ","), err)
		return
	}
	again := q
	again.Ask.Schedule = []string{schedule.Text(lines)}
	if v, err := codegen.Compile(again); err != nil || c.File(v.Func) != want {
		t.Errorf("%s\n-s=%s, printed with its defaults,\n%smakes another leaf (%v)", p.Case.Text(),
			strings.Join(q.Ask.Schedule, ","), again.Ask.Schedule[0], err)
	}
}

// TestPrintedSchedules checks that the printed default schedule of a statement produces the same
// leaf, and that the result is also right without some of its commands.
func TestPrintedSchedules(t *testing.T) {
	t.Parallel()
	commands := map[string]int{}
	one := func(p *Prepared, r *rand.Rand) {
		list := roundTrip(t, p, r)
		for _, x := range list {
			name, _, _ := strings.Cut(x, "(")
			commands[name]++
		}
		// Sizes and statistics are different in the run. Omit commands that they do not permit.
		list = slices.DeleteFunc(list,
			func(x string) bool { return strings.HasPrefix(x, "bound(") || r.IntN(4) == 0 })
		x := p.Case.Clone()
		x.Schedule = list
		if err := Check(context.Background(), scheduleEngine{}, x); len(list) > 0 && err != nil {
			t.Errorf("%s\n-s=%s: %v", p.Case.Text(), strings.Join(list, ","), err)
		}
	}
	n := uint64(300)
	if *nFlag > 0 {
		n = *nFlag
	}
	for k := *firstFlag; k < *firstFlag+n && !t.Failed(); k++ {
		r := Rand(*seedFlag+77, k)
		p, err := Generate(r, Options{Exact: true}).Prepare()
		if err != nil {
			t.Fatal(err)
		}
		one(p, r)
	}
	for k := *firstFlag; k < *firstFlag+max(n/30, 1) && !t.Failed(); k++ {
		for m, line := range kernelLines {
			r := Rand(*seedFlag+uint64(m)<<32, 500+k)
			p, err := kernelCase(line, r)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			one(p, r)
		}
	}
	t.Logf("%d cases, with commands %v", n, commands)
	for _, x := range []string{"temporaries", "assemble", "workspace", "bound", "mergeby",
		"parallelize", "flatten", "longrows", "tile", "vectorize", "prefetch", "nontemporal", "layout"} {
		if commands[x] == 0 && *nFlag == 0 {
			t.Errorf("no schedule had a %s", x)
		}
	}
}
