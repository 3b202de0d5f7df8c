package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// drawn is a sparse tensor with its list of entries.
type drawn struct {
	*Tensor
	entries [][]int64
}

// draw returns a tensor of compressed levels with random entries. Coordinates are uniform, or
// follow a power law.
func draw(r *rand.Rand, skew float64, n int, dims ...int64) *drawn {
	x := &drawn{Tensor: &Tensor{Partition: partition.Whole(len(dims)),
		Layout: tensor.Layout{Dims: dims, Type: tensor.Float64,
			Format: tensor.FormatOf(strings.Repeat("s", len(dims)), nil)},
		Counted: true}}
	seen := map[[4]int64]bool{}
	for range n {
		var at []int64
		for _, d := range dims {
			c := r.Int64N(d)
			if skew > 0 { // density (c/d)^-skew
				c = int64(float64(d) * math.Pow(r.Float64(), 1/(1-skew)))
			}
			at = append(at, c)
		}
		if key := key(at); !seen[key] {
			seen[key] = true
			x.entries = append(x.entries, at)
		}
	}
	x.Entries = float64(len(x.entries))
	return x
}

// key holds up to four coordinates as a key of a map.
func key(at []int64) (k [4]int64) {
	copy(k[:], at)
	return k
}

// known sets the numbers of positions of the tensor's levels.
func (x *drawn) known() *drawn {
	for l := range x.Layout.Format.Order {
		x.levels = append(x.levels, float64(len(prefixes(x.entries, x.Layout.Format.Order[:l+1], nil))))
	}
	return x
}

// prefixes returns the distinct coordinates of some modes, in a box or anywhere.
func prefixes(entries [][]int64, modes []int, box [][2]int64) map[[4]int64]bool {
	out := map[[4]int64]bool{}
	for _, e := range entries {
		inside, at := true, [4]int64{}
		for m, r := range box {
			inside = inside && r[0] <= e[m] && e[m] < r[1]
		}
		for n, m := range modes {
			at[n] = e[m]
		}
		if inside {
			out[at] = true
		}
	}
	return out
}

// pattern returns the coordinates at which a statement's result has an entry.
func pattern(n *notation.Normal, of map[string]*drawn, size map[string]int64) (list [][]int64) {
	seen := map[[4]int64]bool{}
	var join func(factors []notation.Factor, at map[string]int64)
	join = func(factors []notation.Factor, at map[string]int64) {
		if len(factors) == 0 {
			for _, v := range n.LHS.Vars {
				if _, ok := at[v]; ok {
					continue
				}
				for c := range size[v] {
					at[v] = c
					join(nil, at)
				}
				delete(at, v)
				return
			}
			var here []int64
			for _, v := range n.LHS.Vars {
				here = append(here, at[v])
			}
			if key := key(here); !seen[key] {
				seen[key] = true
				list = append(list, here)
			}
			return
		}
		a := factors[0].(*notation.Access)
		x := of[a.Name]
		if x == nil {
			join(factors[1:], at)
			return
		}
		for _, e := range x.entries {
			fits, bound := true, []string{}
			for m, v := range a.Vars {
				if c, ok := at[v]; !ok {
					at[v], bound = e[m], append(bound, v)
				} else {
					fits = fits && c == e[m]
				}
			}
			if fits {
				join(factors[1:], at)
			}
			for _, v := range bound {
				delete(at, v)
			}
		}
	}
	for _, t := range n.Terms {
		join(t.Factors, map[string]int64{})
	}
	return list
}

// result returns the estimate of a statement's result.
func result(t *testing.T, src, kinds string, modes []int, of map[string]*drawn,
	size map[string]int64) (*Tensor, [][]int64) {
	s, err := notation.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	n := notation.Normalize(s)
	d := Densities{Size: size, Of: func(name string) *Tensor {
		if x := of[name]; x != nil {
			return x.Tensor
		}
		return nil
	}}
	y := &Tensor{Partition: partition.Whole(len(modes)),
		Layout:  tensor.Layout{Type: tensor.Float64, Format: tensor.FormatOf(kinds, modes)},
		Pattern: d.Pattern(n.LHS.Vars, n.Terms)}
	for _, v := range n.LHS.Vars {
		y.Layout.Dims = append(y.Layout.Dims, size[v])
	}
	y.Entries = Space(y.Layout.Dims) * d.Sum(n.Terms, nil)
	return y, pattern(n, of, size)
}

// positions returns how many positions each level of a tensor has in a box.
func positions(y *Tensor, entries [][]int64, box [][2]int64) (list []int64) {
	parents := int64(1)
	for l, m := range y.Layout.Format.Order {
		if y.Layout.Format.Levels[l] == 'd' {
			parents *= box[m][1] - box[m][0]
		} else {
			// Places of dense levels are there for all entries that have a path in the box.
			wide := slices.Clone(box)
			for _, below := range y.Layout.Format.Order[y.lastCrd()+1:] {
				wide[below] = [2]int64{0, y.Layout.Dims[below]}
			}
			parents = int64(len(prefixes(entries, y.Layout.Format.Order[:l+1], wide)))
		}
		list = append(list, parents)
	}
	return list
}

// TestForeseen compares estimated positions of results with actual ones. They agree within a tenth
// if entries are spread evenly or the levels are known, and are not too small if entries are
// skewed.
func TestForeseen(t *testing.T) {
	natural := func(n int) (modes []int) {
		for m := range n {
			modes = append(modes, m)
		}
		return modes
	}
	size := map[string]int64{"i": 60, "j": 50, "k": 40, "l": 8, "m": 5}
	for _, skew := range []float64{0, 0.6} {
		for _, n := range []int{300, 2000} {
			r := rand.New(rand.NewPCG(5, uint64(n)))
			of := map[string]*drawn{"A": draw(r, skew, n, 60, 50, 40).known(),
				"B": draw(r, skew, n/3, 60, 50).known(), "C": draw(r, skew, n/3, 50, 40).known(),
				"a": draw(r, skew, 30, 60).known(), "b": draw(r, skew, 20, 50).known()}
			for _, c := range []struct {
				src, kinds string
				modes      []int
				exact      bool // by levels, whatever the skew is
			}{
				{"Y(i,j,l) = A(i,j,k)*X(k,l)", "ssd", natural(3), true},
				{"Y(i,j,l) = A(i,j,k)*X(k,l)", "sss", natural(3), true},
				{"Y(i,j,l) = A(i,j,k)*X(k,l)", "sss", []int{2, 0, 1}, true},
				{"Y(i,j,l) = A(i,j,k)*X(k,l)", "ssd", []int{1, 0, 2}, false},
				{"Y(i,k,l) = A(i,j,k)*X(j,l)", "ssd", natural(3), false},
				{"Y(i,k,l) = A(i,j,k)*X(j,l)", "dsd", natural(3), false},
				{"Y(i,k,l) = A(i,j,k)*X(j,l)", "sss", []int{0, 2, 1}, false},
				{"Y(j,k,l) = A(i,j,k)*X(i,l)", "ssd", natural(3), false},
				{"Y(j,k,l,m) = A(i,j,k)*X(i,l,m)", "ssdd", natural(4), false},
				{"Y(j,k,l,m) = A(i,j,k)*X(i,l,m)", "sssd", []int{2, 0, 1, 3}, false},
				{"y(i,j) = A(i,j,k)*x(k)", "ss", natural(2), true},
				{"y(i) = A(i,j,k)*X(j,k)", "s", natural(1), true},
				{"y(j,k) = A(i,j,k)*x(i)", "ss", natural(2), false},
				{"Y(i,l) = A(i,j,k)*X(j,l)*Z(k,l)", "sd", natural(2), true},
				{"Y(i,j) = a(i)*b(j)", "ss", natural(2), true},
				{"Y(i,j) = a(i)*x(j)", "ss", []int{1, 0}, true},
				{"Y(i,j) = a(i)*B(i,j)", "ss", natural(2), false},
				{"Y(i,k) = B(i,j)*C(j,k)", "ss", natural(2), false},
				{"Y(i,j,l) = B(i,j)*X(l) + a(i)*b(j)*X(l)", "ssd", natural(3), false},
				{"Y(i,j,l) = B(i,j)*X(l) + a(i)*b(j)*X(l)", "sss", natural(3), false},
			} {
				y, entries := result(t, c.src, c.kinds, c.modes, of, size)
				box := make([][2]int64, len(y.Layout.Dims))
				for m, d := range y.Layout.Dims {
					box[m][1] = d
				}
				got, want := y.Positions(), positions(y, entries, box)
				for l := range want {
					off := float64(got[l]-want[l]) / float64(want[l])
					most := 0.1 + 3/math.Sqrt(float64(want[l])/float64(together(y, l)))
					if exact := c.exact && math.Abs(off) > 1e-3; exact || skew == 0 && math.Abs(off) > most {
						t.Errorf("%s, %d entries, skew %v, as %s:%v: level %d has %d positions, not %d", c.src, n,
							skew, c.kinds, c.modes, l, want[l], got[l])
					}
				}
				// No block exceeds its upper bounds, and all blocks together have all values.
				if skew > 0 {
					continue
				}
				for cutMode := range y.Layout.Dims {
					y.Partition = partition.Whole(len(y.Layout.Dims))
					y.Partition.Axes = []partition.Axis{
						{Modes: []int{cutMode}, Cuts: []int64{0, y.Layout.Dims[cutMode] / 3, y.Layout.Dims[cutMode]}}}
					y.sizes, y.hasSize = nil, nil
					for b := range plan.Block(2) {
						z, box := y.Block(b), y.Box(b)
						bytes, parents := int64(0), int64(1)
						for l, n := range positions(y, entries, box) {
							if y.Layout.Format.Levels[l] != 'd' {
								bytes += 4*(parents+1) + 4*n
							}
							parents = n
						}
						bytes += 8 * parents
						if bytes > z.Bytes+z.MoreBytes || parents > z.Most() {
							t.Errorf(
								"%s, %d entries, as %s:%v, cut along mode %d: "+
									"block %d has %d values and %d bytes, want at most %d and %d",
								c.src, n, c.kinds, c.modes, cutMode, b, parents, bytes, z.Most(),
								z.Bytes+z.MoreBytes)
						}
						if math.Abs(float64(bytes-z.Bytes)) > 0.25*float64(bytes)+1500 {
							t.Errorf(
								"%s, %d entries, as %s:%v, cut along mode %d: block %d has %d bytes, about %d are expected",
								c.src, n, c.kinds, c.modes, cutMode, b, bytes, z.Bytes)
						}
					}
				}
			}
		}
	}
}

// together returns how many positions of level l exist together or not at all.
func together(y *Tensor, l int) int64 {
	n := int64(1)
	for _, m := range y.Layout.Format.Order[:l+1] {
		if y.filled(m) {
			n *= y.Layout.Dims[m]
		}
	}
	return n
}

// TestShare checks that densities of projections follow the known levels, also below dense levels
// with known empty segments. For others they follow evenly spread entries.
func TestShare(t *testing.T) {
	x := fewRows(t)
	s := &Tensor{Layout: tensor.Layout{Dims: []int64{4, 10},
		Format: tensor.FormatOf("ds", []int{0, 1})}, Entries: 6}
	even := 1 - math.Pow(1-6./40, 10)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	near("rows, before levels are known", s.Share([]int{0}), even)
	s.SetLevels(x)
	near("rows", s.Share([]int{0}), 0.5)
	near("columns", s.Share([]int{1}), 1-math.Pow(1-6./40, 4))
	near("entries", s.Share([]int{1, 0}), 6./40)
	near("nothing", s.Share(nil), 1)
	rows := &Tensor{Layout: tensor.Layout{Dims: []int64{40, 5},
		Format: tensor.FormatOf("sd", []int{0, 1})}, Entries: 35,
		levels: []float64{7, 35}}
	near("rows that are dense", rows.Share([]int{0, 1}), 7./40)
	near("columns of these", rows.Share([]int{1}), 1)
	near("of a dense tensor",
		(&Tensor{Layout: tensor.Layout{Dims: []int64{4}, Format: tensor.FormatOf("d", []int{0})}}).Share(
			[]int{0}),
		1)
}
