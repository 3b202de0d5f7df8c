package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
)

// loadRanks is the number of ranks, all in this process, that load the file.
const loadRanks = 2

// loads prints the section of loading. Two ranks load a matrix from a .tcs file (1 GB at scale 1),
// and check its contents. The file is in the page cache. The time is compared with the time of
// reading the file sequentially.
func loads(b *bench) error {
	dir, err := os.MkdirTemp("", "bench-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.tcs")
	n := b.scaled(4000000)
	s := &rowStream{dims: []int64{n, n}, each: 20}
	if err := coo.AssembleFile(path, s, coo.Spec{Format: tensor.FormatOf("ds", nil), Name: "A"},
		coo.Config{}); err != nil {
		return err
	}
	spec := coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Dims: s.dims, Type: tensor.Float64,
		Name: "A"}
	cases := []struct {
		name  string
		cuts  [][]int64 // by mode
		limit float64   // largest time of loading, relative to reading
	}{
		{"load row blocks", [][]int64{{0, n / 2, n}}, 2},
		{"load 2x4 blocks", [][]int64{{0, n / 2, n}, {0, n / 4, n / 2, n / 4 * 3, n}}, 20},
	}
	b.printf("%-22s %8s %12s %12s %7s %6s %9s %9s\n", "blocks", "ranks", "distaff ms", "read ms",
		"ratio", "limit", "MB a rank", "limit")
	for _, c := range cases {
		if !b.wants(c.name) {
			continue
		}
		var ours, theirs []float64
		peak, size := int64(0), int64(0)
		for range b.rounds {
			at := time.Now()
			if size, err = readFile(path); err != nil {
				return err
			}
			theirs = append(theirs, time.Since(at).Seconds())
			part := &partition.Partition{Order: len(s.dims),
				Owner: func(at []int64) int { return int(at[0]) % loadRanks }}
			for m, points := range c.cuts {
				part.Axes = append(part.Axes, partition.Axis{Modes: []int{m}, Cuts: points})
			}
			at = time.Now()
			if peak, err = loadOnce(b.ctx, path,
				&load.Target{Partition: part, Spec: spec}); err != nil {
				return err
			}
			ours = append(ours, time.Since(at).Seconds())
		}
		ratio := median(ours) / median(theirs)
		most := float64(size)/loadRanks*1.5 + 100e6
		b.printf("%-22s %8d %12.2f %12.2f %7.2f %6.2f %9.0f %9.0f%s\n", c.name, loadRanks,
			1e3*median(ours), 1e3*median(theirs), ratio, c.limit,
			float64(peak)/1e6, most/1e6, b.over(ratio > c.limit)+b.over(float64(peak) > most))
	}
	return nil
}

// readFile reads a file to its end and returns its size.
func readFile(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	size := int64(0)
	for {
		n, err := f.Read(buf)
		size += int64(n)
		if err == io.EOF {
			return size, nil
		} else if err != nil {
			return size, err
		}
	}
}

// loadOnce loads the file's blocks at every rank. It returns the number of bytes that the rank with
// the largest memory allocated.
func loadOnce(ctx context.Context, path string, target *load.Target) (peak int64, err error) {
	peaks := make([]int64, loadRanks)
	err = local.Run(ctx, loadRanks, func(c comm.Comm) error {
		t, err := tcsfile.Open(path)
		if err != nil {
			return err
		}
		defer t.Close()
		g := *target
		limit := tcs.NewLimit(0)
		g.Cfg = coo.Config{Limit: limit, Threads: 1}
		own, err := g.Tensor(c, load.Source{Tensor: t, Check: true, AsIs: true, Limit: limit})
		for _, x := range own {
			x.Close()
		}
		peaks[c.Rank()] = limit.Peak()
		return err
	})
	return max(peaks[0], peaks[1]), err
}

// rowStream is a matrix with the same number of entries in each row, at pseudo-random ascending
// columns.
type rowStream struct {
	dims []int64
	each int64
	row  int64
}

func (s *rowStream) Dims() ([]int64, bool) { return s.dims, true }
func (s *rowStream) Type() tensor.Type     { return tensor.Float64 }
func (s *rowStream) Rewind() error         { s.row = 0; return nil }
func (s *rowStream) Close() error          { return nil }

func (s *rowStream) Next(b *coo.Batch) error {
	rows := min(s.dims[0]-s.row, 200)
	if rows == 0 {
		return io.EOF
	}
	b.Resize(2, int(rows*s.each), 8)
	clear(b.Vals)
	step := s.dims[1] / s.each
	for k := range rows * s.each {
		i, j := s.row+k/s.each, k%s.each
		b.Coords[0][k] = i
		b.Coords[1][k] = j*step + (i*2654435761+j*40503)%max(step, 1)
		b.Vals[8*k+7], b.Vals[8*k+6] = 0x3f, byte(k)
	}
	s.row += rows
	return nil
}
