package distribute_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/place"
)

// randomSchedule returns a schedule that cuts random variables, moves all loops over chunks outward
// in a random order, and distributes, rotates and communicates some of them.
func randomSchedule(r *rand.Rand, vars []string, dims int) string {
	var commands, outer, inner []string
	for _, v := range vars {
		at := v
		for n := range r.IntN(3) {
			name := []string{"split", "divide"}[r.IntN(2)]
			o, i := fmt.Sprintf("%so%d", v, n), fmt.Sprintf("%si%d", v, n)
			commands = append(commands, fmt.Sprintf("%s(%s,%s,%s,%d)", name, at, o, i, 1+r.IntN(4)))
			outer, at = append(outer, o), i
		}
		inner = append(inner, at)
	}
	r.Shuffle(len(outer), func(a, b int) { outer[a], outer[b] = outer[b], outer[a] })
	r.Shuffle(len(inner), func(a, b int) { inner[a], inner[b] = inner[b], inner[a] })
	if r.IntN(3) == 0 { // a loop over single coordinates; all loops outside it must be peeled
		outer, inner = append(outer, inner[0]), inner[1:]
	}
	if len(outer)+len(inner) > 1 {
		commands = append(commands,
			fmt.Sprintf("reorder(%s)", strings.Join(slices.Concat(outer, inner), ",")))
	}
	if len(outer) > 0 {
		commands = append(commands, fmt.Sprintf("communicate(A,%s)", outer[len(outer)-1]))
	}
	for k, d := range r.Perm(len(outer)) {
		if k < dims {
			commands = append(commands, fmt.Sprintf("distribute(%s)", outer[d]))
		}
	}
	for k := len(outer) - 1; k > 0; k-- {
		if by := r.IntN(k + 1); by > 0 && r.IntN(2) == 0 {
			commands = append(commands,
				fmt.Sprintf("rotate(%s,{%s},%sr)", outer[k], strings.Join(outer[:by], ","), outer[k]))
		}
	}
	return strings.Join(commands, ",")
}

// TestRandom checks that the chunks of each variable together are its range, in order, and that the
// points of the nest visit each tuple of chunks once.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 16))
	peeled, rotations := 0, 0
	for range 600 {
		p := problem{machine: []string{"2", "2x3", "nodes=2;gpus=2x1"}[r.IntN(3)], tensors: "A"}
		sizes := map[string]int64{}
		for _, v := range []string{"i", "j", "k"} {
			sizes[v] = r.Int64N(12)
			p.loops += fmt.Sprintf(" %s:%d", v, sizes[v])
		}
		commands := randomSchedule(r, []string{"i", "j", "k"}, 1+r.IntN(2))
		n, err := p.peel(t, commands)
		if err != nil {
			if !strings.Contains(err.Error(), "rotate: ") && !strings.Contains(err.Error(), "dimension") {
				t.Errorf("%s: %v", commands, err)
			}
			continue
		}
		if n == nil {
			continue
		}
		peeled++
		for _, c := range n.Chunks {
			if c.Cuts[0] != 0 || c.Cuts[len(c.Cuts)-1] != sizes[c.Var] || !slices.IsSorted(c.Cuts) {
				t.Fatalf("%s: the chunks of %s, of size %d, are %v", commands, c.Var, sizes[c.Var], c.Cuts)
			}
			for _, d := range c.Digits {
				if d.Plus != nil {
					rotations++
				}
			}
		}
		if why := bijective(n); why != "" {
			t.Fatalf("%s: %s\n%s", commands, why, text(n))
		}
	}
	if peeled < 300 || rotations < 100 {
		t.Errorf("%d schedules were peeled, with %d rotations: too few to say anything", peeled,
			rotations)
	}
}

// randomPositions returns a schedule that distributes chunks of the first levels of B(i,j,k), and
// the cuts that it makes. The variables of the other levels, and l, are also cut at random.
func randomPositions(r *rand.Rand, levels int) (string, []place.OrderedCut) {
	vars := []string{"i", "j", "k"}
	var commands, outer []string
	var cuts []place.OrderedCut
	cut := func(v, name string, level int) string {
		for n := range r.IntN(3) {
			count := int64(1 + r.IntN(4))
			o, i := fmt.Sprintf("%so%d", name, n), fmt.Sprintf("%si%d", name, n)
			commands = append(commands, fmt.Sprintf("divide(%s,%s,%s,%d)", v, o, i, count))
			outer, v = append(outer, o), i
			if level > -2 {
				cuts = append(cuts, place.OrderedCut{N: count, Level: level})
			}
		}
		return v
	}
	at, inner := cut("i", "i", -1), []string(nil)
	from := r.IntN(levels) // the levels above are not fused, and their loops remain
	for l := 1; l < levels; l++ {
		if l <= from {
			inner, at = append(inner, at), vars[l]
			continue
		}
		if len(commands) > 0 {
			commands = append(commands,
				fmt.Sprintf("reorder(%s)", strings.Join(append(slices.Clone(outer), at, vars[l]), ",")))
		}
		commands = append(commands, fmt.Sprintf("fuse(%s,%s,f%d)", at, vars[l], l))
		at = fmt.Sprintf("f%d", l)
	}
	commands = append(commands, fmt.Sprintf("pos(%s,p,B)", at))
	before := len(cuts)
	for len(cuts) == before {
		at = cut("p", "p", levels-1)
	}
	inner = append(inner, at)
	for _, v := range append(vars[levels:], "l") {
		inner = append(inner, cut(v, v, -2))
	}
	r.Shuffle(len(outer), func(a, b int) { outer[a], outer[b] = outer[b], outer[a] })
	commands = append(commands,
		fmt.Sprintf("reorder(%s)", strings.Join(slices.Concat(outer, inner), ",")))
	commands = append(commands, fmt.Sprintf("communicate(A,%s)", outer[len(outer)-1]))
	for _, o := range outer {
		if o[0] == 'p' {
			commands = append(commands, fmt.Sprintf("distribute(%s)", o))
			break
		}
	}
	return strings.Join(commands, ","), cuts
}

// TestRandomPositions compares the chunks of positions with the cuts of the commands, and checks
// that the points of the nests visit each tuple of chunks once.
func TestRandomPositions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 16))
	for range 600 {
		levels := 1 + r.IntN(3)
		p := problem{[]string{"2", "2x3"}[r.IntN(2)], " i:5 j:4 k:6 l:3", "A B", "B(i,j,k):sss C(l):d"}
		commands, cuts := randomPositions(r, levels)
		n, err := p.peel(t, commands)
		if err != nil {
			t.Errorf("%s: %v", commands, err)
			continue
		}
		at := slices.IndexFunc(n.Chunks, func(c place.Chunks) bool { return c.Positions != nil })
		if at < 0 {
			t.Errorf("%s: there are no chunks of positions", commands)
			continue
		}
		c := n.Chunks[at]
		want := []string{"i", "j", "k"}[:levels]
		if x := c.Positions; x.Tensor != "B" || !slices.Equal(x.Vars, want) ||
			!slices.Equal(x.Cuts, cuts) || c.Var != "" || c.Cuts != nil {
			t.Errorf("%s: got %+v, want the cuts %v of %v", commands, *x, cuts, want)
		}
		for k, d := range c.Digits {
			if d.N != cuts[k].N || n.Loops[d.Loop].N != d.N {
				t.Errorf("%s: digit %d is of %d, and its loop of %d iterations, want %d", commands, k, d.N,
					n.Loops[d.Loop].N, cuts[k].N)
			}
		}
		if slices.ContainsFunc(n.Chunks,
			func(c place.Chunks) bool { return slices.Contains(want, c.Var) }) {
			t.Errorf("%s: %s has chunks of %v beside those of positions", commands, text(n), want)
		}
		if why := bijective(n); why != "" {
			t.Fatalf("%s: %s\n%s", commands, why, text(n))
		}
	}
}

// bijective returns an error message if the points of a nest do not visit each tuple of chunks
// once, or else "".
func bijective(n *place.Nest) string {
	points, tuples := int64(1), int64(1)
	for _, l := range n.Loops {
		points *= l.N
	}
	for _, c := range n.Chunks {
		tuples *= c.N()
	}
	if points != tuples {
		return fmt.Sprintf("%d points go through %d tuples of chunks", points, tuples)
	}
	seen := map[string]bool{}
	point := make([]int64, len(n.Loops))
	for at := range points {
		for k := len(point) - 1; k >= 0; k-- {
			point[k], at = at%n.Loops[k].N, at/n.Loops[k].N
		}
		var tuple []int64
		for _, c := range n.Chunks {
			k := c.Of(point)
			if k < 0 || k >= c.N() {
				return fmt.Sprintf("at %v, chunk %d of %s is none", point, k, c.Var)
			}
			tuple = append(tuple, k)
		}
		key := fmt.Sprint(tuple)
		if seen[key] {
			return fmt.Sprintf("chunks %v are gone through twice, again at %v", tuple, point)
		}
		seen[key] = true
	}
	return ""
}
