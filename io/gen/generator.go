package gen

import (
	"runtime"
	"sync"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Generator generates one tensor: as streams of entries (Stream), or directly into a dense
// tensor (Fill). Several goroutines may use it at the same time.
type Generator struct {
	Kind Kind
	key  uint64 // hash of seed and name
	dims []int64
	typ  tensor.Type
}

// prefix returns a hash of the coordinates of the first modes. The value at a coordinate of n modes
// is value(prefix(at[:n-1]), at[n-1]), or value(prefix(nil), 0) if n is 0.
func (g *Generator) prefix(at []int64) uint64 {
	h := g.key ^ 0x76616c7565 // "value"
	for _, c := range at {
		h = mix(h + phi*uint64(c+1))
	}
	return h
}

func (g *Generator) value(prefix uint64, last int64) tensor.Value {
	if g.Kind.made() {
		return g.madeValue(last)
	}
	h := mix(prefix + phi*uint64(last+1))
	v := tensor.Value{Type: g.typ}
	switch {
	case g.typ == tensor.Bool:
		v.I = 1
	case g.typ.IsInt():
		v.I = int64(1 + h%9)
	case g.Kind.integer && g.typ.IsComplex():
		v.C = complex(float64(1+h%9), float64(1+mix(h)%9))
	case g.Kind.integer:
		v.C = complex(float64(1+h%9), 0)
	case g.typ.IsComplex():
		v.C = complex(unit(h), unit(mix(h)))
	default:
		v.C = complex(unit(h), 0)
	}
	return v
}

// at returns the value at a coordinate.
func (g *Generator) at(coord []int64) tensor.Value {
	if len(coord) == 0 {
		return g.value(g.prefix(nil), 0)
	}
	return g.value(g.prefix(coord[:len(coord)-1]), coord[len(coord)-1])
}

// Fill stores the values of a dense tensor or of a dense block. t must have the generator's sizes
// and type, dense levels only, and writable memory. The outermost level is divided among the given
// number of threads.
func (g *Generator) Fill(t *tcs.Tensor, threads int) {
	if t.Vals.Len == 0 {
		return
	}
	if len(t.Levels) == 0 {
		t.SetValue(0, g.at(nil))
		return
	}
	outer := t.Levels[0]
	inner, workers := t.Vals.Len/outer.Size, int64(max(threads, 1))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			at := make([]int64, len(g.dims))
			for c := cut(w, outer.Size, workers); c < cut(w+1, outer.Size, workers); c++ {
				at[outer.Mode] = outer.Offset + c
				g.fillBelow(t, at, 1, c*inner)
			}
		}()
	}
	wait.Wait()
	runtime.KeepAlive(t)
}

// fillBelow stores all values below one position of the level above. p is the position of the first
// value, and at contains the coordinates of the levels above. It returns the position after the
// last value.
func (g *Generator) fillBelow(t *tcs.Tensor, at []int64, level int, p int64) int64 {
	if level == len(t.Levels) {
		t.SetValue(p, g.at(at))
		return p + 1
	}
	lev := &t.Levels[level]
	if level == len(t.Levels)-1 && lev.Mode == len(at)-1 {
		// Row-major: hash the other coordinates once for the whole row.
		prefix := g.prefix(at[:lev.Mode])
		for c := range lev.Size {
			t.SetValue(p+c, g.value(prefix, lev.Offset+c))
		}
		return p + lev.Size
	}
	for c := range lev.Size {
		at[lev.Mode] = lev.Offset + c
		p = g.fillBelow(t, at, level+1, p)
	}
	return p
}

// cut returns where part k of n equal parts of [0, size) begins: ⌊k·size/n⌋, computed without
// overflow.
func cut(k, size, n int64) int64 { return k*(size/n) + k*(size%n)/n }
