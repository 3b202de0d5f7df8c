package load_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
)

// stored is a tensor with, for each of its levels, the tuples of coordinates of the positions in
// storage order. The tuples are computed from the entries alone.
type stored struct {
	name   string
	t      *tcs.Tensor
	tuples [][][]int64
}

// maxTuples is the largest number of positions in dense levels. maxSmall is the largest number of
// entries of a tensor that is tested completely.
const (
	maxTuples = 1 << 15
	maxSmall  = 3000
)

// storedAs assembles a tensor in a format. It returns false if a level would have too many
// positions.
func storedAs(t *testing.T, name string, in coo.Stream, kinds string, modes []int) (*stored, bool) {
	t.Helper()
	dims, _ := in.Dims()
	every := 1.0
	for l, kind := range kinds {
		if kind == 'd' {
			every *= float64(dims[modes[l]])
		}
	}
	if every > maxTuples {
		return nil, false
	}
	entries := entriesOf(t, in, modes)
	s := &stored{name: fmt.Sprintf("%s as %s:%v", name, kinds, modes)}
	above := [][]int64{{}}
	for l, kind := range kinds {
		var list [][]int64
		if kind == 's' {
			for _, e := range entries {
				list = append(list, e[:l+1])
			}
			list = slices.CompactFunc(list, slices.Equal)
		} else {
			if int64(len(above))*dims[modes[l]] > maxTuples {
				return nil, false
			}
			for _, tuple := range above {
				for c := range dims[modes[l]] {
					list = append(list, append(slices.Clone(tuple), c))
				}
			}
		}
		s.tuples, above = append(s.tuples, list), list
	}
	if err := in.Rewind(); err != nil {
		t.Fatal(err)
	}
	x, err := coo.Assemble(in, coo.Spec{Format: tensor.FormatOf(kinds, modes), Name: name},
		coo.Config{Threads: 1})
	if err != nil {
		t.Fatalf("%s as %s: %v", name, kinds, err)
	}
	s.t = x
	return s, true
}

// entriesOf returns the coordinates of a stream's entries, in the order of the modes, sorted.
func entriesOf(t *testing.T, in coo.Stream, modes []int) (entries [][]int64) {
	t.Helper()
	if err := in.Rewind(); err != nil {
		t.Fatal(err)
	}
	var b coo.Batch
	for {
		switch err := in.Next(&b); {
		case err == io.EOF:
			slices.SortFunc(entries, slices.Compare)
			return entries
		case err != nil:
			t.Fatal(err)
		}
		for k := range b.Coords[0] {
			tuple := make([]int64, len(modes))
			for l, m := range modes {
				tuple[l] = b.Coords[m][k]
			}
			entries = append(entries, tuple)
		}
	}
}

// even checks that keys cut the positions of a level evenly.
func (s *stored) even(level, parts int, keys [][]int64) error {
	if len(keys) != parts+1 || keys[0] != nil || keys[parts] != nil {
		return fmt.Errorf("%s: got keys %v of %d parts", s.name, keys, parts)
	}
	list := s.tuples[level]
	for k := 1; k < parts; k++ {
		before := sort.Search(len(list),
			func(n int) bool { return slices.Compare(list[n], keys[k]) >= 0 })
		if want := place.EvenCut(int64(len(list)), int64(parts), int64(k)); int64(before) != want {
			return fmt.Errorf("%s: part %d of %d begins at position %d of level %d, want %d of %d", s.name,
				k, parts, before, level, want, len(list))
		}
	}
	return nil
}

// rowOf returns a matrix with all entries in one row.
func rowOf(entries int64) *points {
	p := &points{dims: []int64{50, 3 * entries}}
	for k := range entries {
		p.at = append(p.at, 17, 3*k+1)
	}
	return p
}

// eachStored calls test for the real tensors in files on this machine whose size is at most most,
// and for some others, in several formats.
func eachStored(t *testing.T, most int64, test func(s *stored)) {
	formats := func(name string, in coo.Stream) {
		dims, _ := in.Dims()
		n := len(dims)
		order := tensor.Identity(n)
		reversed := slices.Clone(order)
		slices.Reverse(reversed)
		inner := strings.Repeat("s", n-1)
		for _, f := range []struct {
			kinds string
			modes []int
		}{{"s" + inner, order}, {"d" + inner, order}, {"d" + inner, reversed}, {inner + "d", order},
			{"dd" + inner[:n-2], order}} {
			if s, ok := storedAs(t, name, in, f.kinds, f.modes); ok {
				test(s)
				s.t.Close()
			}
		}
	}
	formats("entries in one row", rowOf(100))
	formats("no entries", &points{dims: []int64{5, 4, 3}})
	formats("random points", random(rand.New(rand.NewPCG(5, 6)), []int64{9, 8, 7}, 3, false, false))
	files := readertest.Files(t, "matrices", "tensors")
	if len(files) < 20 {
		t.Fatalf("found %d files in %v, want 20 or more", len(files), readertest.Roots(t))
	}
	for _, file := range files {
		if x, err := os.Stat(file); err != nil || x.Size() > most {
			continue
		}
		in, err := convert.Open(file, coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		formats(filepath.Base(file), in)
		in.Close()
	}
}

// TestLocate checks that the parts of the positions of every level differ by at most one. The keys
// are found by one rank that has the whole tensor, and by several ranks that have even parts.
func TestLocate(t *testing.T) {
	eachStored(t, math.MaxInt64, func(s *stored) {
		modes := modesOf(s.t)
		for level := range modes {
			for _, parts := range []int{2, 3, 7, 64} {
				o := &place.Ordered{Modes: modes[:level+1],
					Cuts: []place.OrderedCut{{N: int64(parts), Level: level}}}
				keys, err := load.Keys(context.Background(), s.t, o)
				if err == nil {
					err = s.even(level, parts, keys)
				}
				if err != nil {
					t.Error(err)
				}
				if parts != 3 || s.t.Vals.Len > maxSmall {
					continue
				}
				err = local.Run(context.Background(), parts, func(c comm.Comm) error {
					even := partition.Evenly(s.t.Header.Dims, modes[0], parts)
					own, err := s.t.View(tcs.Block{Box: even.Box(partition.Piece(c.Rank()), s.t.Header.Dims)})
					if err != nil {
						return err
					}
					defer own.Close()
					keys, err := load.Locate(c, own, o, s.t.Header.Dims)
					if err != nil {
						return err
					}
					return s.even(level, parts, keys)
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestBetween checks that blocks that are views between keys have all entries in order.
func TestBetween(t *testing.T) {
	shown := 0
	eachStored(t, 10000, func(s *stored) {
		modes, want := modesOf(s.t), list(s.t)
		for level := range modes {
			for _, parts := range []int{3, 64} {
				part := &partition.Partition{Order: len(modes),
					Owner: func(at []int64) int { return int(at[0]) % 3 }}
				o := &place.Ordered{Modes: modes[:level+1],
					Cuts: []place.OrderedCut{{N: int64(parts), Level: level}}}
				part.Axes = []partition.Axis{{Modes: o.Modes, Ordered: o}}
				blocks, ok := make([][]string, parts), false
				var mu sync.Mutex
				err := local.Run(context.Background(), 3, func(c comm.Comm) error {
					mine := *part
					mine.Axes = slices.Clone(part.Axes)
					g := &load.Target{Partition: &mine,
						Spec: coo.Spec{Format: tensor.Format{Levels: s.t.Format().Levels, Order: modes},
							Dims: s.t.Header.Dims, Type: s.t.Header.Type}}
					own, viewed, err := g.Between(c, load.Source{Tensor: s.t, AsIs: true})
					mu.Lock()
					defer mu.Unlock()
					ok = viewed
					for b, x := range own {
						blocks[b] = list(x)
						if err == nil {
							err = x.Validate()
						}
						if box := mine.Box(b, s.t.Header.Dims); err == nil && !slices.Equal(x.Header.Box, box) {
							err = fmt.Errorf("block %d has box %v, want %v", b, x.Header.Box, box)
						}
						x.Close()
					}
					return err
				})
				if err != nil {
					t.Fatalf("%s, level %d in %d parts: %v", s.name, level, parts, err)
				}
				if !ok {
					continue
				}
				if shown++; !slices.Equal(slices.Concat(blocks...), want) {
					t.Errorf("%s, level %d in %d parts: got %v, want %v", s.name, level, parts, blocks, want)
				}
			}
		}
	})
	if shown == 0 {
		t.Error("no tensor's blocks were views")
	}
}

// modesOf returns the modes of a tensor's levels.
func modesOf(t *tcs.Tensor) []int {
	return t.Format().Order
}
