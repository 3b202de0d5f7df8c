package main

import (
	"fmt"

	"distaff/io/tcs"
)

// touched returns the number of bytes that are moved for the rows of a dense operand. If all rows
// fit in twice the size of the card's cache, each row that is used is moved once. Otherwise a row
// is moved once for each use.
func (b *bench) touched(rows, uses, rowBytes int64) float64 {
	cache := int64(50 << 20)
	if b.peers != nil {
		cache = b.peers.cache()
	}
	if rows*rowBytes > 2*cache {
		return float64(uses * rowBytes)
	}
	return float64(min(rows, uses) * rowBytes)
}

// spmm measures SpMM with 128 columns.
func (b *bench) spmm() error {
	const k = 128
	shapes := []shape{
		{"uniform 1M x 10", uniform(1e6, 1e6, 10)},
		{"uniform 100k x 100", uniform(100e3, 100e3, 100)},
		{"power law 1M", powerLaw(1e6, 10e6)},
		{"banded 1M x 10..20", bands(1e6)},
	}
	b.header()
	for _, s := range shapes {
		if !b.lines.MatchString(s.name) {
			continue
		}
		m, err := s.make(s.name, b.scale)
		if err != nil {
			return err
		}
		bs := values(m.cols*k, 8)
		ref := m.spmm(bs, k)
		operands := map[string]*tcs.Tensor{"A": m.tensor(), "B": dense(bs, m.cols, k)}
		bytes := float64(12*m.nnz()+4*(m.rows+1)+8*k*m.rows) + b.touched(m.cols, m.nnz(), 8*k)
		var t theirs
		if b.peers != nil && b.peers.sparse {
			t, err = b.peers.spmm(m, bs, k, b.rounds)
			if t, err = b.checked(t, ref, err); err != nil {
				return err
			}
		}
		for n, way := range []schedule{byDefault, a4(16, 16, k), a4(32, 16, k)} {
			o, err := b.measure(statement{name: fileName("spmm", way.name),
				text: "C(i,k) = A(i,j) * B(j,k)", dims: []int64{m.rows, k}, operands: operands,
				schedule: way.text})
			if err != nil {
				b.failed(s.name, way.name, err)
				continue
			}
			l := line{input: s.name, schedule: way.name, ours: o, want: ref, bytes: bytes,
				peer: t.algorithm, peerMS: t.ms}
			if n == 0 {
				l.minRatio = 0.85
			}
			b.print(l)
		}
	}
	return nil
}

// product is an MTTKRP over a tensor, and its result.
type product struct {
	t        *tensor3
	operands map[string]*tcs.Tensor
	ref      []float64
	bytes    float64
}

const mttkrpColumns = 32

// productOf makes the operands of an MTTKRP of 48M entries in 200k slices, and computes its result.
// share is the part of the entries that are in one slice.
func (b *bench) productOf(name string, share float64) (*product, error) {
	const row = 8 * mttkrpColumns
	dims := [3]int64{scaled(200e3, b.scale), scaled(2e6, b.scale), scaled(2e6, b.scale)}
	t, err := newTensor3(name, dims, 20, 12, share)
	if err != nil {
		return nil, err
	}
	c, d := values(dims[1]*mttkrpColumns, 9), values(dims[2]*mttkrpColumns, 10)
	p := &product{t: t, operands: map[string]*tcs.Tensor{"B": t.tensor(),
		"C": dense(c, dims[1], mttkrpColumns), "D": dense(d, dims[2], mttkrpColumns)},
		ref: t.mttkrp(c, d, mttkrpColumns)}
	p.bytes = float64(12*t.nnz()+8*t.fibres+8*t.slices+row*t.slices) +
		b.touched(dims[1], t.fibres, row) + b.touched(dims[2], t.nnz(), row)
	b.printf("%s: %d x %d x %d, %d entries in %d fibres, at most %d fibres a slice\n", name,
		dims[0], dims[1], dims[2], t.nnz(), t.fibres, t.widest)
	return p, nil
}

func (b *bench) multiply(p *product, s schedule) (ours, error) {
	return b.measure(statement{name: fileName("mttkrp", s.name),
		text: "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", dims: []int64{p.t.dims[0], mttkrpColumns},
		operands: p.operands, schedule: s.text})
}

// mttkrp prints the section of SpMTTKRP, compared with the memory bandwidth. The limit applies to
// the default schedule.
func (b *bench) mttkrp() error {
	b.header()
	p, err := b.productOf("even slices", 0)
	if err != nil {
		return err
	}
	for n, s := range []schedule{byDefault, a8(4, 16, mttkrpColumns), a8(32, 16, mttkrpColumns),
		a8(128, 8, mttkrpColumns)} {
		o, err := b.multiply(p, s)
		if err != nil {
			b.failed(p.t.name, s.name, err)
			continue
		}
		l := line{input: p.t.name, schedule: s.name, ours: o, want: p.ref, bytes: p.bytes}
		if n == 0 {
			l.minShare = 0.7
		}
		b.print(l)
	}
	return nil
}

// hugeSlice prints the section about uneven slices. It runs schedule A.8 and the default schedule
// on two tensors, and compares the times. In one tensor all slices have equally many entries. In
// the other, one slice has half of all entries.
func (b *bench) hugeSlice() error {
	schedules := []schedule{a8(128, 8, mttkrpColumns), byDefault, a8(4, 16, mttkrpColumns)}
	even := map[string]float64{}
	b.header()
	for _, share := range []float64{0, 0.5} {
		name := "even slices"
		if share > 0 {
			name = "half in one slice"
		}
		p, err := b.productOf(name, share)
		if err != nil {
			return err
		}
		for n, s := range schedules {
			o, err := b.multiply(p, s)
			if err != nil {
				b.failed(name, s.name, err)
				continue
			}
			l := line{input: name, schedule: s.name, ours: o, want: p.ref, bytes: p.bytes}
			if share == 0 {
				even[s.name] = o.ms
			} else {
				l.peer, l.peerMS = "even slices", even[s.name]
				if n == 0 {
					l.minRatio = 1 / 1.2
				}
			}
			b.print(l)
		}
	}
	return nil
}

// sddmm prints the section of SDDMM, compared with the memory bandwidth and with cuSPARSE.
func (b *bench) sddmm() error {
	b.header()
	for _, k := range []int64{32, 128} {
		for _, s := range []shape{{"uniform 2M x 10", uniform(2e6, 2e6, 10)},
			{"power law 2M", powerLaw(2e6, 20e6)}} {
			s.name = fmt.Sprintf("%s, K %d", s.name, k)
			if !b.lines.MatchString(s.name) {
				continue
			}
			if err := b.sampled(s, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) sampled(s shape, k int64) error {
	m, err := s.make(s.name, b.scale)
	if err != nil {
		return err
	}
	c, d := values(m.rows*k, 11), values(m.cols*k, 12)
	ref := m.sddmm(c, d, k)
	var t theirs
	if b.peers != nil && b.peers.sparse {
		t, err = b.peers.sddmm(m, c, d, k, b.rounds)
		if t, err = b.checked(t, ref, err); err != nil {
			return err
		}
	}
	o, err := b.measure(statement{name: fileName("sddmm", fmt.Sprint(k)),
		text: "Y(i,j) = A(i,j) * C(i,k) * D(j,k)", result: "ds", dims: []int64{m.rows, m.cols},
		operands: map[string]*tcs.Tensor{"A": m.tensor(), "C": dense(c, m.rows, k),
			"D": dense(d, m.cols, k)}})
	if err != nil {
		b.failed(s.name, byDefault.name, err)
		return nil
	}
	bytes := float64(20*m.nnz()+4*(m.rows+1)+8*k*m.rows) + b.touched(m.cols, m.nnz(), 8*k)
	b.print(line{input: s.name, schedule: byDefault.name, ours: o, want: ref, bytes: bytes,
		peer: t.algorithm, peerMS: t.ms, minShare: 0.7})
	return nil
}
