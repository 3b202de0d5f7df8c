package irtest

import (
	"math"
	"math/rand/v2"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
)

var inputs = map[string]input{
	"spmv":     {args: spmvArgs, bounds: [][2]int64{{0, math.MaxInt64}, {0, 0}}},
	"warpspmv": {args: spmvArgs},
	"warprows": {args: spmvArgs},
	"together": {args: func() []interp.Arg {
		pos, crd, a := sparse[int32](31, 40, 5, 9)
		return []interp.Arg{vals(make([]float64, 31*96)), {Vals: fresh(make([]float64, len(a)))},
			{Levels: []interp.Level{dense(31, 0), level(pos, crd)}, Vals: data(a)},
			vals(integers[float64](40*96, 10))}
	}},
	"blocktiles": {args: countArgs},
	"blocksum":   {args: countArgs},
	"scanned": {args: func() []interp.Arg {
		return []interp.Arg{result(1), vals(integers[float64](100, 95))}
	}},
	"threadfails": {args: divideArgs, fail: ir.FailDivide},
	"union": {args: func() []interp.Arg {
		_, bcrd, b := sparse[int32](1, 500, 90, 3)
		_, ccrd, c := sparse[int64](1, 500, 70, 4)
		return []interp.Arg{
			result(1),
			{Levels: []interp.Level{level([]int64{0, int64(len(b))}, bcrd)}, Vals: data(b)},
			{Levels: []interp.Level{level([]int32{0, int32(len(c))}, ccrd)}, Vals: data(c)},
		}
	}},
	"segments": {args: func() []interp.Arg {
		apos, acrd, a := rowsOf(60, 200, 6)
		bpos, bcrd, b := rowsOf(60, 200, 7)
		_, fcrd, f := rowsOf(2, 60, 8)
		for k := range fcrd { // some have more than the 26 bits that a key has room for
			fcrd[k] <<= 22
		}
		return []interp.Arg{
			result(2),
			{Levels: []interp.Level{dense(60, 0), level(apos, acrd)}, Vals: data(a)},
			{Levels: []interp.Level{dense(60, 0), level(bpos, bcrd)}, Vals: data(b)},
			{Levels: []interp.Level{level([]int32{0, int32(len(f))}, fcrd)}, Vals: data(halves(f))},
			{Levels: []interp.Level{{Crd: data(make([]int32, len(f)))}},
				Vals: data(make([]float32, len(f)))},
		}
	}, bounds: [][2]int64{{0, 60}}},
	"spgemm": {args: func() []interp.Arg {
		bpos, bcrd, b := sparse[int32](31, 40, 5, 5)
		cpos, ccrd, c := sparse[int32](40, 50, 6, 6)
		return []interp.Arg{
			result(2),
			{Levels: []interp.Level{dense(31, 0), level(bpos, bcrd)}, Vals: data(b)},
			{Levels: []interp.Level{dense(50, 0), level(cpos, ccrd)}, Vals: data(c)},
		}
	}, bounds: [][2]int64{{0, 31}}},
	"arith":   {args: arithArgs},
	"applied": {args: arithArgs},
	"product": {args: func() []interp.Arg {
		return []interp.Arg{
			vals(integers[float64](50*40, 40)), vals(integers[float64](2+50*25, 41)),
			vals(integers[float64](1+23*38, 42)),
			vals(integers[float32](9*9, 43)), vals(integers[float32](9*4, 44)),
			vals(integers[float32](2+4*8, 45)),
			vals(complexes(3 * 35)), vals(complexes(3 * 42)), vals(complexes(30)),
		}
	}},
	"atomics": {args: func() []interp.Arg {
		crd := make([]int64, 200)
		for i, x := range integers[int64](200, 20) {
			crd[i] = x + 9
		}
		return []interp.Arg{
			{Levels: []interp.Level{{Crd: data(crd)}}, Vals: data(make([]float32, 200))},
			vals(make([]int32, 19)), vals(make([]int64, 19)), vals(make([]float32, 19)),
			vals(make([]float64, 19)),
			vals(make([]complex64, 19)), vals(make([]complex128, 19)), vals(make([]bool, 19)),
		}
	}},
	"reduce": {args: func() []interp.Arg {
		return []interp.Arg{
			{Vals: fresh(make([]float64, 3))},
			vals(integers[float64](77, 31)), vals(integers[float64](77, 32)), vals(integers[int64](77, 33)),
			vals(complexes(77)), {Vals: fresh(make([]int64, 1))}, {Vals: fresh(make([]complex128, 2))},
		}
	}},
	"search": {args: func() []interp.Arg {
		pos, crd := make([]int32, 40), make([]int64, 30)
		for i := range pos {
			pos[i] = int32(i/3*2) + 1
		}
		for i := range crd {
			crd[i] = int64(i*i/5) - 3
		}
		return []interp.Arg{
			{Vals: fresh(make([]int64, 160))},
			{Levels: []interp.Level{{Pos: view(pos, 100), Crd: data(crd)}}},
		}
	}, bounds: [][2]int64{{0, 40}}},
	"memory": {args: func() []interp.Arg {
		return []interp.Arg{
			vals(make([]float64, 90)), vals(integers[float64](20, 41)), {Vals: fresh(make([]int32, 3))},
			result(0), result(0),
		}
	}},
	"nontemporal": {args: func() []interp.Arg {
		return []interp.Arg{
			vals(make([]float64, 600)), vals(integers[float64](60, 42)), vals(make([]float32, 1200)),
			vals(make([]complex128, 160)),
		}
	}},
	"scan": {args: func() []interp.Arg {
		return []interp.Arg{result(0), vals(integers[int64](90, 93))}
	}, bounds: [][2]int64{{90, 0}}},
	"scanfails": {args: divideArgs, bounds: [][2]int64{{50, 0}}, fail: ir.FailDivide},
	"divide":    {args: divideArgs, bounds: [][2]int64{{0, 50}}, fail: ir.FailDivide},
	"guarded":   {args: divideArgs, fail: ir.FailDivide},
	"literals": {args: func() []interp.Arg {
		return []interp.Arg{
			{Vals: fresh(make([]float64, 9))}, {Vals: fresh(make([]float32, 5))},
			{Vals: fresh(make([]int64, 5))},
			{Vals: fresh(make([]complex128, 2))}, {Vals: fresh(make([]int32, 2))},
		}
	}},
	"view": {args: func() []interp.Arg {
		pos, crd, _ := sparse[int64](30, 25, 3, 50)
		pos32 := make([]int32, len(pos))
		for i := range pos {
			pos32[i] = int32(pos[i]) + 1000
		}
		a := integers[float32](len(crd), 51)
		return []interp.Arg{
			{Vals: view(make([]float32, 30), 500)},
			{Levels: []interp.Level{{Pos: view(pos32, 500), Crd: view(crd, 1000)}}, Vals: view(a, 1000)},
			{Levels: []interp.Level{dense(12, 6)}, Vals: data(make([]complex64, 12))},
		}
	}, bounds: [][2]int64{{500, 530}}},
	// Rows 6 to 17 of a matrix of four columns.
	"offset_rows": {args: func() []interp.Arg {
		crd := []int32{6, 17, 9, 9, 12}
		return []interp.Arg{
			{Vals: data(make([]float64, 4))},
			{Levels: []interp.Level{{Crd: data(crd)}}},
			{Levels: []interp.Level{dense(12, 6), dense(4, 0)}, Vals: data(integers[float64](48, 77))},
		}
	}, bounds: [][2]int64{{0, 5}}},
	"sorts": {args: func() []interp.Arg {
		a, b := spread[int32](9000, 60), spread[int64](9000, 61)
		copy(a[4200:], integers[int32](2000, 62))
		copy(b[4200:], integers[int64](2000, 63))
		for i := 6500; i < 9000; i++ {
			a[i], b[i] = int32(i), int64(9000-i)
		}
		return []interp.Arg{vals(a), vals(b)}
	}},
	"claims": {args: func() []interp.Arg {
		return []interp.Arg{{Vals: fresh(make([]int64, 3))}, vals(integers[int64](500, 97)),
			{Vals: fresh(make([]int32, 64))}, {Vals: fresh(make([]int64, 200))}}
	}},
	"bits": {args: func() []interp.Arg {
		x := make([]int64, 9000)
		for i := range x {
			x[i] = int64(i) * 7919 % 10000
		}
		copy(x[1023:], []int64{9999, 0, 63, 64, 9999, 9984})
		copy(x[5000:], x[:3000]) // some twice
		return []interp.Arg{vals(make([]int32, 10000)), vals(x)}
	}},
	"tables": {args: func() []interp.Arg {
		keys, more := spread[int64](700, 80), integers[int64](700, 81)
		copy(keys[100:], integers[int64](600, 82))
		return []interp.Arg{
			result(1),
			{Levels: []interp.Level{{Crd: data(keys)}}, Vals: data(make([]float32, 700))},
			{Levels: []interp.Level{{Crd: data(more)}}},
		}
	}, bounds: [][2]int64{{5, 0}}},
	"late": {args: func() []interp.Arg {
		return []interp.Arg{result(1), vals(integers[float64](20, 90))}
	}},
	"names": {args: func() []interp.Arg {
		return []interp.Arg{vals(integers[float64](20, 91)), vals(integers[float64](20, 92)), result(1)}
	}, bounds: [][2]int64{{5, 20}}},
	"rows": {args: func() []interp.Arg {
		return []interp.Arg{{Vals: fresh(make([]float64, 20))}, vals(integers[float64](60, 94))}
	}},
	"nested": {args: func() []interp.Arg {
		return []interp.Arg{{Vals: fresh(make([]float64, 200))}, vals(integers[float64](10, 70))}
	}, bounds: [][2]int64{{0, 20}}},
}

// rowsOf returns n rows of a matrix with m columns. Some rows are empty, some have nearly all
// coordinates, and most have few. Code that works on windows of 16 entries is thus tested with
// windows that end anywhere in a row. The values have both signs and include zeros. Their sums are
// not exact, so a test can detect that values were added in another order.
func rowsOf(n, m int, seed uint64) (pos, crd []int32, vals []float64) {
	r := rand.New(rand.NewPCG(seed, 13))
	pos = []int32{0}
	for range n {
		share := []float64{0, 0.01, 0.05, 0.08, 0.1, 0.4, 0.97}[r.IntN(7)]
		for j := range m {
			if r.Float64() < share {
				crd, vals = append(crd, int32(j)), append(vals, float64(r.IntN(9)-4)/3)
			}
		}
		pos = append(pos, int32(len(crd)))
	}
	return pos, crd, vals
}

func halves(list []float64) []float32 {
	out := make([]float32, len(list))
	for k, x := range list {
		out[k] = float32(x) / 2
	}
	return out
}

func spmvArgs() []interp.Arg {
	pos, crd, a := sparse[int32](101, 60, 4, 1)
	return []interp.Arg{
		{Levels: []interp.Level{dense(101, 0)}, Vals: fresh(make([]float64, 101))},
		{Levels: []interp.Level{dense(101, 0), level(pos, crd)}, Vals: data(a)},
		vals(integers[float64](60, 2)),
	}
}

func countArgs() []interp.Arg {
	return []interp.Arg{{Vals: fresh(make([]int64, 1))}, vals(integers[int64](1000, 96)),
		{Vals: fresh(make([]int32, 19))}}
}

func divideArgs() []interp.Arg {
	x, y := integers[int64](50, 42), integers[int64](50, 43)
	for i := range y {
		if y[i] == 0 {
			y[i] = 4
		}
	}
	y[33] = 0
	return []interp.Arg{{Vals: fresh(make([]int64, 50))}, vals(x), vals(y)}
}

func complexes(n int) []complex128 {
	re, im := integers[float64](n, 34), integers[float64](n, 35)
	z := make([]complex128, n)
	for i := range z {
		z[i] = complex(re[i], im[i])
	}
	return z
}

// arithArgs returns arguments with values of every numeric type. Among them are extremes,
// infinities, NaN, and zeros of both signs.
func arithArgs() []interp.Arg {
	inf, nan, negz := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	i32 := append([]int32{0, 1, -1, math.MinInt32, math.MaxInt32, math.MinInt32, -1, 46341, -46341, 7},
		spread[int32](30, 14)...)
	i64 := append([]int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt64, -1, 3037000500,
		1 << 31, -7}, spread[int64](30, 15)...)
	f64 := append([]float64{0, negz, 1, inf, -inf, nan, 1e300, -1e300, 0.1, 1e19},
		integers[float64](30, 16)...)
	f32 := make([]float32, 40)
	c128, c64 := make([]complex128, 40), make([]complex64, 40)
	for i := range f32 {
		f32[i] = float32(f64[(i*7)%40])
		c128[i] = complex(f64[i], f64[(i*3)%40])
		c64[i] = complex(f32[i], f32[(i*3)%40])
	}
	n := len(i32)
	return []interp.Arg{
		{}, vals(i32), vals(i64), vals(f32), vals(f64), vals(c64), vals(c128),
		{Vals: fresh(make([]int32, 12*n))}, {Vals: fresh(make([]int64, 12*n))},
		{Vals: fresh(make([]float32, 8*n))}, {Vals: fresh(make([]float64, 8*n))},
		{Vals: fresh(make([]complex64, 8*n))}, {Vals: fresh(make([]complex128, 8*n))},
		{Vals: fresh(make([]bool, 10*n))},
	}
}
