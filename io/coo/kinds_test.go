package coo

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// TestEveryLevelKind is the conformance test of level kinds. Every format of three levels, over all
// kinds, must either store one entry, and one entry in each row, or refuse them with an error that
// names the place. A tensor that was stored must have the arrays of its kinds, be valid, return its
// entries, whole and in blocks, from memory and from a file, and be invalid with a coordinate that
// its kinds forbid.
func TestEveryLevelKind(t *testing.T) {
	dims := []int64{5, 4, 6}
	one := &memStream{dims: dims, exact: true, typ: tensor.Float64, batch: 3,
		coords: [][]int64{{2, 1, 3}}, vals: []tensor.Value{{Type: tensor.Float64, C: 7}}}
	rows := &memStream{dims: dims, exact: true, typ: tensor.Float64, batch: 2}
	for i := range dims[0] {
		rows.coords = append(rows.coords, []int64{i, (3 * i) % 4, (5*i + 1) % 6})
		rows.vals = append(rows.vals, tensor.Value{Type: tensor.Float64, C: complex(float64(i+1), 0)})
	}
	held := map[string]bool{} // by letter and level
	for _, a := range tensor.Kinds {
		for _, b := range tensor.Kinds {
			for _, c := range tensor.Kinds {
				kinds := a.String() + b.String() + c.String()
				for _, in := range []*memStream{one, rows} {
					in.at = 0
					x, err := Assemble(in, Spec{Format: tensor.FormatOf(kinds, nil), Name: "T"}, Config{})
					var refused *Error
					if errors.As(err, &refused) {
						if refused.Exit != 3 || in == one && !strings.Contains(kinds, "d") {
							t.Errorf("%s of %d entries: %v", kinds, len(in.coords), err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					for l := range kinds {
						held[kinds[l:l+1]+fmt.Sprint(l)] = true
					}
					if err := conforms(t, x, in.sums()); err != nil {
						t.Errorf("%s of %d entries: %v", kinds, len(in.coords), err)
					}
					x.Close()
				}
			}
		}
	}
	for _, k := range tensor.Kinds {
		for l := range 3 {
			if !held[string(k)+fmt.Sprint(l)] {
				t.Errorf("no format with %c at level %d was tried", k, l)
			}
		}
	}
}

// conforms compares a tensor with the properties of its level kinds.
func conforms(t *testing.T, x *tcs.Tensor, want map[string]complex128) error {
	kinds := x.Format().Levels
	shape, whole := x.Shape()
	if !whole {
		return errors.New("a tensor in memory has no shape")
	}
	lay, err := shape.Layout()
	if err != nil {
		return err
	}
	for l := range x.Levels {
		lev, k := &x.Levels[l], kinds[l]
		if lev.Kind != kinds[l] || (lev.Pos.Width > 0) != k.HasPos() ||
			(lev.Crd.Width > 0) != k.HasCrd() {
			return fmt.Errorf("level %d has pos of %d bytes and crd of %d", l, lev.Pos.Width, lev.Crd.Width)
		}
		if n := x.Positions(l); n != lay.Positions[l] {
			return fmt.Errorf("level %d has %d positions, its layout %d", l, n, lay.Positions[l])
		}
	}
	if err := x.Check(); err != nil {
		return err
	}
	if got := meaning(x); !maps.Equal(got, want) {
		return fmt.Errorf("got entries %v, want %v", got, want)
	}
	if err := inBlocks(x, want); err != nil {
		return err
	}
	path := filepath.Join(t.TempDir(), "x.tcs")
	if err := tcsfile.Write(path, x, tcsfile.WriteOptions{}); err != nil {
		return err
	}
	y, err := tcsfile.Open(path)
	if err != nil {
		return err
	}
	defer y.Close()
	if err := y.Check(); err != nil {
		return fmt.Errorf("from its file: %w", err)
	}
	st, ok := tcsfile.Stats(y)
	if got := meaning(y); !maps.Equal(got, want) || !ok || st.Entries < int64(len(want)) {
		return fmt.Errorf("from its file: got entries %v, statistics %+v, want %v", got, st, want)
	}
	return forbidden(x)
}

// inBlocks compares two blocks of rows with the whole tensor.
func inBlocks(x *tcs.Tensor, want map[string]complex128) error {
	got := map[string]complex128{}
	for _, r := range [][2]int64{{0, 3}, {3, 5}} {
		v, err := x.View(tcs.Block{Box: [][2]int64{r, {0, 4}, {0, 6}}})
		if err != nil {
			return err
		}
		for at, val := range meaning(v) {
			if _, twice := got[at]; twice {
				return fmt.Errorf("%s is in two blocks", at)
			}
			got[at] = val
		}
		v.Close()
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("got entries %v in blocks, want %v", got, want)
	}
	return nil
}

// forbidden stores an element in each array that the level's kind forbids, and expects an error
// from Check.
func forbidden(x *tcs.Tensor) error {
	kinds := x.Format().Levels
	for l := range x.Levels {
		lev, k := &x.Levels[l], kinds[l]
		if k.HasPos() {
			was := lev.Pos.Int(0)
			lev.Pos.SetInt(0, was+1)
			if x.Check() == nil {
				return fmt.Errorf("level %d: a pos that does not begin at its coordinates is valid", l)
			}
			lev.Pos.SetInt(0, was)
		}
		if k.HasCrd() && lev.Crd.Len > 0 {
			was := lev.Crd.Int(0)
			for _, bad := range []int64{-1, -2, lev.Size} {
				lev.Crd.SetInt(0, bad)
				if valid := x.Check() == nil; valid && !(bad == -1 && padding(x, l)) {
					return fmt.Errorf("level %d: coordinate %d of %d is valid", l, bad, lev.Size)
				}
			}
			lev.Crd.SetInt(0, was)
		}
		if k.HasPos() && k.IsUnique() && lev.Crd.Len > 1 && lev.Pos.Int(1)-lev.Pos.Int(0) > 1 {
			was := lev.Crd.Int(1)
			lev.Crd.SetInt(1, lev.Crd.Int(0))
			if x.Check() == nil {
				return fmt.Errorf("level %d: a coordinate that stands twice is valid", l)
			}
			lev.Crd.SetInt(1, was)
		}
	}
	return x.Check()
}

// padding reports whether the first position of level l may have no entry: its kind is padded, or
// it is a singleton below a position without an entry.
func padding(x *tcs.Tensor, l int) bool {
	for k := x.Levels[l].Kind; k.IsSingle() &&
		!k.IsPadded(); k = x.Levels[l].Kind {
		if l--; l < 0 || x.Levels[l].Form() == tensor.Single && x.Levels[l].Crd.Int(0) >= 0 {
			return false
		}
		for l > 0 && x.Levels[l].Form() == tensor.Full {
			l--
		}
	}
	return x.Levels[l].Kind.IsPadded()
}

// TestUnknownLevelKind checks that a letter without a level kind causes a panic wherever levels are
// used.
func TestUnknownLevelKind(t *testing.T) {
	bad := func() *tcs.Tensor {
		return &tcs.Tensor{Header: tcs.Header{Dims: []int64{3}, Type: tensor.Float64},
			Vals:   tcs.Of([]float64{1, 2, 3}),
			Levels: []tcs.Level{{Kind: 'x', Size: 3, Crd: tcs.Of([]int32{0, 1, 2})}}}
	}
	for what, f := range map[string]func(){
		"positions": func() { bad().Positions(0) },
		"check":     func() { bad().Check() },
		"cursor":    func() { bad().Cursor() },
		"view":      func() { bad().View(tcs.Block{Box: [][2]int64{{0, 2}}}) },
		"shape":     func() { bad().Shape() },
		"singleton": func() { tensor.Kind('x').IsSingle() },
		"nothing":   func() { tcs.EmptyPart(bad().Header, tensor.FormatOf("x", []int{0})) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil ||
					!strings.Contains(fmt.Sprint(r), "BUG: no level kind x") {
					t.Errorf("%s: got %v, want a BUG", what, r)
				}
			}()
			f()
		}()
	}
}
