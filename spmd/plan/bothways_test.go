package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
)

// bothWays is a block schedule, given by flags and by commands.
type bothWays struct {
	statement string
	ranks     int
	sizes     map[string]int64
	spec      place.BlockSpec
	machine   string // its sizes are the numbers of ranges of the mapping's variables
	commands  []string
}

// draw draws a block schedule that commands can express. Ranges are even or have a fixed number of
// coordinates. Some split variable determines the rank. A variable has partial results of its own
// only if each rank runs one range of it.
func draw(r *rand.Rand) *bothWays {
	statements := []string{
		"A(i,j) = B(i,k)*C(k,j)", "a(i) = B(i,j)*c(j) + d(i)", "a(i) += B(i,j)*c(j)", "s = B(i,j)*C(j,i)",
		"A(i,l) = B(i,j,k)*C(j,l)*D(k,l)", "A(i,j) = B(i,j) + B(j,i)", "A(i,j) = b(i)*c(j)",
		"a(i) = B(i,j)*c(j) + D(i,k)*e(k)*f(j)",
	}
	x := &bothWays{statement: statements[r.IntN(len(statements))], ranks: 1 + r.IntN(7),
		sizes: map[string]int64{}}
	n := x.normal()
	for _, v := range n.Vars {
		x.sizes[v] = 1 + r.Int64N(12)
	}
	var split []string // variables
	ranges := map[string]int64{}
	for _, v := range n.Vars {
		if len(split) > 0 && r.IntN(3) == 0 {
			continue
		}
		split = append(split, v)
		ranges[v] = x.cut(r, v)
	}
	x.loops(r, n, split)
	x.mapping(r, n, split, ranges)
	return x
}

func (x *bothWays) normal() *notation.Normal {
	s, err := notation.Parse(x.statement)
	if err != nil {
		panic(err)
	}
	return notation.Normalize(s)
}

// cut splits a variable, and returns the number of its ranges.
func (x *bothWays) cut(r *rand.Rand, v string) int64 {
	n := 1 + r.Int64N(4)
	if r.IntN(2) == 0 {
		x.spec.Splits = append(x.spec.Splits, place.SplitSpec{Var: v, Count: n})
		x.commands = append(x.commands, fmt.Sprintf("divide(%s,%[1]so,%[1]si,%d)", v, n))
		return n
	}
	s := place.SplitSpec{Var: v}
	for at := n; at < x.sizes[v]; at += n {
		s.Points = append(s.Points, at)
	}
	x.spec.Splits = append(x.spec.Splits, s)
	x.commands = append(x.commands, fmt.Sprintf("split(%s,%[1]so,%[1]si,%d)", v, n))
	return int64(len(s.Points)) + 1
}

// loops orders the loops over ranges.
func (x *bothWays) loops(r *rand.Rand, n *notation.Normal, split []string) {
	order := slices.Clone(split)
	if r.IntN(2) == 0 {
		r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		x.spec.Order = order
	}
	var outer, inner []string
	for _, v := range order {
		outer = append(outer, v+"o")
	}
	for _, v := range n.Vars {
		if slices.Contains(split, v) {
			v += "i"
		}
		inner = append(inner, v)
	}
	x.commands = append(x.commands,
		fmt.Sprintf("reorder(%s)", strings.Join(append(outer, inner...), ",")),
		fmt.Sprintf("communicate({%s},%s)", strings.Join(x.tensors(), ","), outer[len(order)-1]))
}

// tensors returns the names of the statement's tensors, the result's first.
func (x *bothWays) tensors() (list []string) {
	s, err := notation.Parse(x.statement)
	if err != nil {
		panic(err)
	}
	for _, a := range s.Tensors() {
		if !slices.Contains(list, a.Name) {
			list = append(list, a.Name)
		}
	}
	return list
}

// format returns the format of a tensor, whose levels are all dense.
func (x *bothWays) format(name string) tensor.Format {
	s, err := notation.Parse(x.statement)
	if err != nil {
		panic(err)
	}
	for _, a := range s.Tensors() {
		if a.Name == name {
			return tensor.DenseOf(a.Order)
		}
	}
	panic("no tensor " + name)
}

// mapping draws the variables that determine the rank, and the variables with partial results of
// their own.
func (x *bothWays) mapping(r *rand.Rand, n *notation.Normal, split []string,
	ranges map[string]int64) {
	list := slices.DeleteFunc(slices.Clone(n.LHS.Vars),
		func(v string) bool { return !slices.Contains(split, v) })
	if len(list) == 0 || r.IntN(2) == 0 {
		list = slices.Clone(split)
		r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		list = list[:1+r.IntN(len(list))]
		x.spec.Map = list
	}
	points := int64(1)
	var extents []string
	for _, v := range list {
		points *= ranges[v]
		extents = append(extents, fmt.Sprint(ranges[v]))
	}
	x.machine = strings.Join(extents, "x")
	at := len(x.commands) - 1 // before communicate
	for _, v := range list {
		x.commands = slices.Insert(x.commands, at, "distribute("+v+"o)")
		at++
	}
	for _, v := range list {
		if points <= int64(x.ranks) && !slices.Contains(n.LHS.Vars, v) && r.IntN(2) == 0 {
			x.spec.Extend = []string{v}
			break
		}
	}
}

// problems returns the plans of both schedules.
func (x *bothWays) problems(t *testing.T) (blocks, commands *Problem) {
	t.Helper()
	m, err := place.ParseMachine(x.machine)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(spec *place.BlockSpec, machine *place.Machine, schedule []string) *Problem {
		names := x.tensors()
		read := names[1:]
		if strings.Contains(x.statement, "+=") {
			read = names
		}
		p,
			err := New(Given{Norm: x.normal(), Names: names, Read: read, Sizes: x.sizes, Blocks: spec,
			Ranks: x.ranks, Machine: machine, Schedule: schedule,
			Format: x.format, Entries: func(string) float64 { return 1 }})
		if err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		return p
	}
	return plan(&x.spec, nil, nil),
		plan(&place.BlockSpec{}, m, []string{strings.Join(x.commands, ", ")})
}

// told describes a plan in words that do not depend on the numbering of variables. If from is true,
// it includes the sources of pieces.
func told(p *Problem, from bool) string {
	var b strings.Builder
	for k, o := range p.Operands {
		fmt.Fprintf(&b, "%s%v of %s", o.Name, o.Vars, o.Tensor)
		for n := range Block(o.Partition.Pieces()) {
			fmt.Fprintf(&b, " %v at %v", o.Partition.Box(n, sizesOf(p, o.Vars)), o.Partition.Ranks(n))
		}
		fmt.Fprintln(&b, " broadcast", p.Broadcasts()[k])
	}
	for n := range Block(p.Result.Pieces()) {
		fmt.Fprintf(&b, "result %v at %v\n", p.Result.Box(n, sizesOf(p, p.Norm.LHS.Vars)),
			p.Result.Ranks(n))
	}
	for rank := range p.Ranks {
		for s := range p.Steps(rank) {
			fmt.Fprintln(&b, "rank", rank, "runs", p.Blocking.Groups[s.Group].Terms, ranges(p, s.Tuple),
				"reads", s.Need, "adds to", s.Partial.Result, s.First)
		}
		for k := range p.Operands {
			for _, a := range p.Arrivals(rank, k) {
				for _, f := range a.Fetches {
					fmt.Fprint(&b, "rank ", rank, " gets ", k, " ", f.Need.Block, " for scope ", a.T, " at home ",
						f.From == rank)
					if from {
						fmt.Fprint(&b, " from ", f.From)
					}
					fmt.Fprintln(&b)
				}
			}
		}
	}
	for _, s := range p.Sums() {
		fmt.Fprint(&b, "sum ", s.Result, " of ")
		for _, a := range s.Adds {
			fmt.Fprint(&b, a.From.Rank, " to ", a.To.Rank, ", ")
		}
		fmt.Fprintln(&b, "from", s.Root.Rank, "to", s.Owner, s.Copies)
	}
	return b.String()
}

// ranges returns the ranges of the split variables at a tuple, by name.
func ranges(p *Problem, tuple []int64) map[string][2]int64 {
	out := map[string][2]int64{}
	for k, v := range p.Blocking.Vars {
		out[v.Name] = [2]int64{v.Cuts[tuple[k]], v.Cuts[tuple[k]+1]}
	}
	return out
}

// sizesOf returns the sizes of split variables, and 1 for other variables, which no box cuts.
func sizesOf(p *Problem, vars []string) []int64 {
	out := make([]int64, len(vars))
	for m, v := range vars {
		out[m] = 1
		for _, x := range p.Blocking.Vars {
			if x.Name == v {
				out[m] = x.Cuts[len(x.Cuts)-1]
			}
		}
	}
	return out
}

// TestBlockSchedulesAsCommands checks that a block schedule and the equivalent commands give the
// same plan: owners, steps, arrivals and sums. The sources of pieces may differ, because ranks
// forward pieces under commands.
func TestBlockSchedulesAsCommands(t *testing.T) {
	direct, forwarded := 0, 0
	for seed := range uint64(3000) {
		x := draw(rand.New(rand.NewPCG(seed, 31)))
		blocks, commands := x.problems(t)
		if commands.Direct() {
			direct++
		} else {
			forwarded++
		}
		if got, want := told(commands, commands.Direct()), told(blocks, commands.Direct()); got != want {
			t.Fatalf("seed %d: %+v\ncommands:\n%s\nblocks:\n%s", seed, x, got, want)
		}
	}
	if direct < 100 || forwarded < 100 {
		t.Errorf("%d plans are direct, %d forward: want many of both", direct, forwarded)
	}
}
