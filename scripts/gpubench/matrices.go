package main

import (
	"fmt"

	"distaff/io/tcs"
)

// vectors holds the operands and the result of SpMV over a matrix.
type vectors struct {
	m       *matrix
	a, x    *tcs.Tensor
	xs, ref []float64
}

// vectorsOf makes the matrix of a shape with its vectors.
func (b *bench) vectorsOf(s shape) (*vectors, error) {
	m, err := s.make(s.name, b.scale)
	if err != nil {
		return nil, err
	}
	v := &vectors{m: m, a: m.tensor(), xs: values(m.cols, 7)}
	v.x, v.ref = dense(v.xs, m.cols), m.spmv(v.xs)
	b.printf("%s: %d x %d, %d entries, at most %d a row\n", m.name, m.rows, m.cols, m.nnz(), m.most)
	return v, nil
}

// bytes returns the bytes that y = A*x must move: each array once.
func (v *vectors) bytes() float64 {
	return float64(12*v.m.nnz() + 4*(v.m.rows+1) + 8*v.m.rows + 8*min(v.m.cols, v.m.nnz()))
}

// by measures y = A*x under a schedule.
func (b *bench) by(v *vectors, s schedule) (ours, error) {
	return b.measure(statement{name: fileName("spmv", s.name), text: "y(i) = A(i,j) * x(j)",
		dims: []int64{v.m.rows}, operands: map[string]*tcs.Tensor{"A": v.a, "x": v.x},
		schedule: s.text})
}

// against returns cuSPARSE's best time of SpMV, after checking its result. It returns nothing if
// there is no cuSPARSE.
func (b *bench) against(v *vectors) (theirs, error) {
	if b.peers == nil || !b.peers.sparse {
		return theirs{}, nil
	}
	t, err := b.peers.spmv(v.m, v.xs, b.rounds)
	return b.checked(t, v.ref, err)
}

// checked returns t, the time of a peer, without its result, if the result is near enough to want
// (tolerance). err is the error of the peer. If cuSPARSE does not support the algorithm, checked
// returns a time of 0 with the note "not supported", and no error.
func (b *bench) checked(t theirs, want []float64, err error) (theirs, error) {
	if err == errUnsupported {
		return theirs{algorithm: "not supported"}, nil
	}
	if err != nil {
		return t, err
	}
	if d := difference(t.result, want); !(d <= tolerance) {
		return t, fmt.Errorf("cuSPARSE's %s differs by %.1e", t.algorithm, d)
	}
	t.result = nil
	return t, nil
}

// compare runs SpMV with each schedule. For each schedule it prints a line with our time and the
// time t, of cuSPARSE or of another schedule. limit applies only to the first schedule.
func (b *bench) compare(v *vectors, t theirs, limit float64, schedules ...schedule) error {
	for k, s := range schedules {
		o, err := b.by(v, s)
		if err != nil {
			b.failed(v.m.name, s.name, err)
			continue
		}
		l := line{input: v.m.name, schedule: s.name, ours: o, want: v.ref, bytes: v.bytes(),
			peer: t.algorithm, peerMS: t.ms}
		if k == 0 {
			l.minRatio = limit
		}
		b.print(l)
	}
	return nil
}

// spmv prints the section of SpMV. It measures the default schedule and schedules of Senanayake's
// thesis (A.2 and A.10). The limit applies only to the default schedule.
func (b *bench) spmv() error {
	shapes := []shape{
		{"uniform 10M x 10", uniform(10e6, 10e6, 10)},
		{"power law 10M", powerLaw(10e6, 100e6)},
		{"banded 10M x 10..20", bands(10e6)},
		{"huge row 50M of 100M", hugeRow(10e6, 64e6, 5)},
		{"uniform 1M x 10", uniform(1e6, 1e6, 10)},
		{"uniform 2M x 100", uniform(2e6, 2e6, 100)},
	}
	b.header()
	for _, s := range shapes {
		if !b.lines.MatchString(s.name) {
			continue
		}
		v, err := b.vectorsOf(s)
		if err != nil {
			return err
		}
		t, err := b.against(v)
		if err != nil {
			return err
		}
		schedules := []schedule{byDefault, a2(7, 16)}
		if v.m.most < 1e6 {
			schedules = append(schedules, a10(256, 16))
		}
		if err := b.compare(v, t, 0.9, schedules...); err != nil {
			return err
		}
	}
	return nil
}

// skew prints the section that compares schedules A.10 and A.2 on matrices with more and more
// uneven rows. Long rows slow down A.10, because a single warp computes a whole row: it needs a
// tenth of a second for a row of 10 million entries.
func (b *bench) skew() error {
	b.header()
	for _, c := range []float64{1, 1.0001, 1.001, 1.003, 1.01, 1.03, 1.1} {
		s := shape{fmt.Sprintf("c = %g", c), skewed(200e3, 40e6, 400e6, c)}
		if !b.lines.MatchString(s.name) {
			continue
		}
		v, err := b.vectorsOf(s)
		if err != nil {
			return err
		}
		rows, err := b.by(v, a10(256, 16))
		if err != nil {
			b.failed(s.name, "A.10", err)
			continue
		}
		b.print(line{input: s.name, schedule: a10(256, 16).name, ours: rows, want: v.ref,
			bytes: v.bytes()})
		if err := b.compare(v, theirs{algorithm: "A.10", ms: rows.ms}, 0, a2(7, 16),
			byDefault); err != nil {
			return err
		}
	}
	return nil
}

// shortWide prints the section of a matrix with few, long rows. It compares two kinds of schedules:
// one divides the entries evenly, and the other gives each row to a warp. The second kind is
// measured with two block sizes. With 256 rows, as in listing A.10 of Senanayake's thesis, a single
// block gets all rows of this matrix. With the other size, a block gets 16 rows.
func (b *bench) shortWide() error {
	v, err := b.vectorsOf(shape{"100 x 100k", func(name string, scale float64) (*matrix, error) {
		n := max(scaled(10000, scale), 640)
		return newMatrix(name, 100, 10*n, func(int64) int64 { return n }, false)
	}})
	if err != nil {
		return err
	}
	t, err := b.against(v)
	if err != nil {
		return err
	}
	b.header()
	if err := b.compare(v, t, 0, byDefault, a2(7, 16), a2(7, 4)); err != nil {
		return err
	}
	for k, rows := range []schedule{a10(256, 16), a10(16, 16)} {
		o, err := b.by(v, rows)
		if err != nil {
			b.failed(v.m.name, rows.name, err)
			continue
		}
		b.print(line{input: v.m.name, schedule: rows.name, ours: o, want: v.ref, bytes: v.bytes(),
			peer: t.algorithm, peerMS: t.ms})
		limit := 3.0
		if k > 0 {
			limit = 0
		}
		if err := b.compare(v, theirs{algorithm: rows.name, ms: o.ms}, limit, a2(7, 16),
			byDefault); err != nil {
			return err
		}
	}
	return nil
}

// unroll compares A.2 with A.11.
func (b *bench) unroll() error {
	b.header()
	for _, s := range []shape{{"uniform 10M x 10", uniform(10e6, 10e6, 10)},
		{"uniform 400k x 10", uniform(400e3, 400e3, 10)}} {
		if !b.lines.MatchString(s.name) {
			continue
		}
		v, err := b.vectorsOf(s)
		if err != nil {
			return err
		}
		o, err := b.by(v, a11(7, 16))
		if err != nil {
			b.failed(s.name, "A.11", err)
			continue
		}
		b.print(line{input: s.name, schedule: a11(7, 16).name, ours: o, want: v.ref,
			bytes: v.bytes()})
		if err := b.compare(v, theirs{algorithm: "A.11", ms: o.ms}, 1.3, a2(7, 16)); err != nil {
			return err
		}
	}
	return nil
}
