package commtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// barrier checks that no rank leaves the barrier before the last rank has entered it. All ranks
// read the same clock.
func barrier(c comm.Comm) error {
	for last := range c.Size() {
		if c.Rank() == last {
			time.Sleep(3 * time.Millisecond)
		}
		came := time.Now().UnixNano()
		if err := c.Barrier(); err != nil {
			return err
		}
		left := time.Now().UnixNano()
		all, err := comm.Allgather(c, came)
		if err != nil {
			return err
		}
		if latest := slices.Max(all); left < latest {
			return fmt.Errorf("the rank left %d ns before the last rank came", latest-left)
		}
	}
	return nil
}

func bcast(c comm.Comm) error {
	for root := range c.Size() {
		for _, n := range []int{0, 1, 1000, 70000, 1<<20 + 3} {
			b := make([]byte, n)
			if c.Rank() == root {
				pattern(b, root, n)
			}
			if err := comm.Bcast(c, b, root); err != nil {
				return err
			}
			if err := wantPattern(b, root, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// fold defines the result of a reduction over ranks lo to lo+n-1. It folds a left block and a right
// block of ranks in the same way and combines the two results. The size of the left block is the
// largest power of two that is less than n.
func fold[T any](lo, n int, at func(rank int) T, op func(a, b T) T) T {
	if n == 1 {
		return at(lo)
	}
	half := 1
	for half*2 < n {
		half *= 2
	}
	return op(fold(lo, half, at, op), fold(lo+half, n-half, at, op))
}

type number interface {
	int32 | int64 | uint64 | float32 | float64 | complex64 | complex128
}

// reduceType tests the operations of one type. value(rank, i) is element i of rank.
func reduceType[T number](c comm.Comm, ops map[comm.Op]func(a, b T) T,
	value func(rank, i int) T) error {
	p, me := c.Size(), c.Rank()
	for _, op := range []comm.Op{comm.Sum, comm.Prod, comm.Min, comm.Max, comm.And, comm.Or} {
		f := ops[op]
		if f == nil {
			continue
		}
		for _, n := range []int{0, 1, 5, 1000, 40001} {
			if n > 5 && op != comm.Sum && op != comm.Min {
				continue // the way a long buffer goes does not depend on the operation
			}
			want := make([]T, n)
			for i := range want {
				want[i] = fold(0, p, func(r int) T { return value(r, i) }, f)
			}
			own := make([]T, n)
			reset := func() {
				for i := range own {
					own[i] = value(me, i)
				}
			}
			check := func(what string) error {
				for i := range own {
					if own[i] != want[i] {
						return fmt.Errorf("%s %v of %d %v: element %d is %v, want %v", what, op, n,
							tensor.TypeOf[T](),
							i, own[i], want[i])
					}
				}
				return nil
			}
			reset()
			if err := comm.Allreduce(c, own, op); err != nil {
				return err
			}
			if err := check("Allreduce"); err != nil {
				return err
			}
			for root := range p {
				if n > 1000 && root != p-1 {
					continue
				}
				reset()
				if err := comm.Reduce(c, own, op, root); err != nil {
					return err
				}
				if me == root {
					if err := check("Reduce"); err != nil {
						return err
					}
					continue
				}
				for i := range own {
					if own[i] != value(me, i) {
						return fmt.Errorf(
							"wrong Reduce: it changed the operand of rank %d, although the "+
								"root is %d", me, root)
					}
				}
			}
		}
	}
	return nil
}

func integerOps[T int32 | int64 | uint64]() map[comm.Op]func(a, b T) T {
	return map[comm.Op]func(a, b T) T{
		comm.Sum: func(a, b T) T { return a + b }, comm.Prod: func(a, b T) T { return a * b },
		comm.Min: func(a, b T) T { return min(a, b) }, comm.Max: func(a, b T) T { return max(a, b) },
		comm.And: func(a, b T) T { return a & b }, comm.Or: func(a, b T) T { return a | b },
	}
}

func floatOps[T float32 | float64]() map[comm.Op]func(a, b T) T {
	return map[comm.Op]func(a, b T) T{
		comm.Sum: func(a, b T) T { return a + b }, comm.Prod: func(a, b T) T { return a * b },
		comm.Min: func(a, b T) T { return min(a, b) }, comm.Max: func(a, b T) T { return max(a, b) },
	}
}

func complexOps[T complex64 | complex128]() map[comm.Op]func(a, b T) T {
	return map[comm.Op]func(a, b T) T{
		comm.Sum: func(a, b T) T { return a + b }, comm.Prod: func(a, b T) T { return a * b },
	}
}

func reduce(c comm.Comm) error {
	mix := func(rank, i int) int64 { return int64(rank+1)*2654435761 ^ int64(i)*40503 }
	real := func(rank, i int) float64 { return float64(mix(rank, i)%10007) / 101 }
	for _, err := range []error{
		reduceType(c, integerOps[int32](), func(r, i int) int32 { return int32(mix(r, i)) }),
		reduceType(c, integerOps[int64](), mix),
		reduceType(c, integerOps[uint64](), func(r, i int) uint64 { return uint64(mix(r, i)) }),
		reduceType(c, floatOps[float32](), func(r, i int) float32 { return float32(real(r, i)) }),
		reduceType(c, floatOps[float64](), real),
		reduceType(c, complexOps[complex64](),
			func(r, i int) complex64 { return complex(float32(real(r, i)), float32(i%3)) }),
		reduceType(c, complexOps[complex128](),
			func(r, i int) complex128 { return complex(real(r, i), float64(i%5)) }),
	} {
		if err != nil {
			return err
		}
	}
	b := []byte{1 << (c.Rank() % 8)}
	if err := comm.Allreduce(c, b, comm.Or); err != nil {
		return err
	}
	if want := byte(1<<min(c.Size(), 8) - 1); b[0] != want {
		return fmt.Errorf("wrong Or of bytes: got %#x, want %#x", b[0], want)
	}
	return nil
}

// reduceBits sums floats whose sum depends on the order. The bits must be the same at every rank,
// in long and short buffers, and whichever rank arrives first.
func reduceBits(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	value := func(rank, i int) float64 {
		r := rand.New(rand.NewPCG(uint64(rank), uint64(i%17)))
		return (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(30)))
	}
	for _, n := range []int{17, 17 * 4000} {
		for trial := range 3 {
			time.Sleep(time.Duration((me*7+trial*5)%p) * time.Millisecond / 2)
			s := make([]float64, n)
			for i := range s {
				s[i] = value(me, i)
			}
			if err := comm.Allreduce(c, s, comm.Sum); err != nil {
				return err
			}
			for i := range s {
				want := fold(0, p, func(r int) float64 { return value(r, i) },
					func(a, b float64) float64 { return a + b })
				if math.Float64bits(s[i]) != math.Float64bits(want) {
					return fmt.Errorf("wrong sum of %d elements: element %d is %x, want %x",
						n, i, s[i], want)
				}
				if i == 17*3 {
					break // the values repeat
				}
			}
		}
	}
	nan := []float64{1, math.Copysign(0, -1)}
	if me == p-1 {
		nan = []float64{math.NaN(), 0}
	}
	if err := comm.Allreduce(c, nan, comm.Min); err != nil {
		return err
	}
	if !math.IsNaN(nan[0]) || (p > 1 && !math.Signbit(nan[1])) {
		return fmt.Errorf("wrong Min with NaN and -0: got %v", nan)
	}
	return nil
}

func scan(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	for _, n := range []int{0, 1, 3, 30000} {
		s, x := make([]int64, n), make([]int64, n)
		for i := range s {
			s[i] = int64(me*1000 + i + 1)
			x[i] = s[i]
		}
		if err := c.Scan(comm.Of(s), comm.Sum); err != nil {
			return err
		}
		if err := c.Exscan(comm.Of(x), comm.Sum); err != nil {
			return err
		}
		for i := range s {
			want := int64(0)
			for r := range me {
				want += int64(r*1000 + i + 1)
			}
			if x[i] != want || s[i] != want+int64(me*1000+i+1) {
				return fmt.Errorf(
					"wrong element %d: Scan gives %d and Exscan %d, want %d from Exscan",
					i, s[i], x[i], want)
			}
		}
	}
	// The left operand belongs to the lower ranks. A wrong order would show in the neutral element
	// of Min, and in the order of products that overflow.
	m := []float64{float64(p - me)}
	if err := c.Exscan(comm.Of(m), comm.Min); err != nil {
		return err
	}
	want := math.Inf(1)
	if me > 0 {
		want = float64(p - me + 1)
	}
	if m[0] != want {
		return fmt.Errorf("wrong Exscan with Min: got %v, want %v", m[0], want)
	}
	q := []int32{int32(me + 2)}
	if err := c.Exscan(comm.Of(q), comm.Prod); err != nil {
		return err
	}
	prod := int32(1)
	for r := range me {
		prod *= int32(r + 2)
	}
	if q[0] != prod {
		return fmt.Errorf("wrong Exscan with Prod: got %d, want %d", q[0], prod)
	}
	return nil
}

// count returns how many elements the rank `from` has for the rank `to` in round k. The number is
// sometimes zero and sometimes large.
func count(from, to, k int) int {
	switch (from*3 + to*5 + k) % 4 {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return 100 + from
	}
	return 9000*k + to
}

func gather(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	for root := range p {
		for k := range 3 {
			counts := make([]int64, p)
			var want []int64
			for r := range p {
				counts[r] = int64(count(r, 0, k))
				for i := range counts[r] {
					want = append(want, int64(r)<<32|i)
				}
			}
			send := make([]int64, counts[me])
			for i := range send {
				send[i] = int64(me)<<32 | int64(i)
			}
			var recv []int64
			var at []int64
			if me == root {
				recv, at = make([]int64, len(want)), counts
			}
			if err := c.Gatherv(comm.Of(send), comm.Of(recv), at, root); err != nil {
				return err
			}
			if me == root && !slices.Equal(recv, want) {
				return fmt.Errorf("wrong Gatherv to root %[2]d, with the lengths %[1]v", counts, root)
			}
			parts, err := comm.Gatherv(c, send, root)
			if err != nil {
				return err
			}
			if me == root && !slices.Equal(slices.Concat(parts...), want) {
				return fmt.Errorf("wrong Gatherv of slices to root %[2]d, with the lengths %[1]v", counts,
					root)
			}
		}
		var recv []int32
		if me == root {
			recv = make([]int32, 2*p)
		}
		if err := c.Gather(comm.Of([]int32{int32(me), -int32(me)}), comm.Of(recv), root); err != nil {
			return err
		}
		for r := range recv {
			if want := int32(r/2) * int32(1-2*(r%2)); recv[r] != want {
				return fmt.Errorf("wrong Gather to root %d: element %d is %d, want %d",
					root, r, recv[r], want)
			}
		}
	}
	return nil
}

func allgather(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	for k := range 4 {
		counts := make([]int64, p)
		var want []int32
		for r := range p {
			counts[r] = int64(count(r, 1, k))
			for i := range counts[r] {
				want = append(want, int32(r*100000)+int32(i))
			}
		}
		send := make([]int32, counts[me])
		for i := range send {
			send[i] = int32(me*100000 + i)
		}
		recv := make([]int32, len(want))
		from := comm.Of(send)
		if len(send) == 0 {
			from = comm.Buf{} // is of any type
		}
		if err := c.Allgatherv(from, comm.Of(recv), counts); err != nil {
			return err
		}
		if !slices.Equal(recv, want) {
			return fmt.Errorf("wrong Allgatherv of %v", counts)
		}
		parts, err := comm.Allgatherv(c, send)
		if err != nil {
			return err
		}
		if !slices.Equal(slices.Concat(parts...), want) || len(parts) != p {
			return fmt.Errorf("wrong Allgatherv of slices of %v", counts)
		}
	}
	for _, n := range []int{0, 1, 50000} {
		send, recv := make([]byte, n), make([]byte, n*p)
		pattern(send, me, n)
		if err := c.Allgather(comm.Of(send), comm.Of(recv)); err != nil {
			return err
		}
		for r := range p {
			if err := wantPattern(recv[r*n:(r+1)*n], r, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func alltoall(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	for k := range 4 {
		parts := make([][]byte, p)
		for to := range p {
			parts[to] = make([]byte, count(me, to, k))
			pattern(parts[to], me, to, k)
		}
		got, err := comm.Alltoallv(c, parts)
		if err != nil {
			return err
		}
		for from := range p {
			if len(got[from]) != count(from, me, k) {
				return fmt.Errorf(
					"wrong Alltoallv: got %d bytes from rank %d, want %d", len(got[from]), from,
					count(from, me, k))
			}
			if err := wantPattern(got[from], from, me, k); err != nil {
				return err
			}
		}
	}
	send, recv := make([]float32, 3*p), make([]float32, 3*p)
	for i := range send {
		send[i] = float32(me*1000 + i)
	}
	if err := c.Alltoall(comm.Of(send), comm.Of(recv)); err != nil {
		return err
	}
	for i, v := range recv {
		if want := float32(i/3*1000 + me*3 + i%3); v != want {
			return fmt.Errorf("wrong Alltoall: element %d is %v, want %v", i, v, want)
		}
	}
	return nil
}
