package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"distaff/spmd"
)

// stored is one line of the table: a job of one statement whose result is written to a file.
type stored struct {
	name, stmt, input, format string
	ranks                     int
	split, mapping            string
	limit                     float64 // largest time, relative to write(); 0 means no limit
}

// storedTable has a line for each way to store a result. In some lines, each rank writes its dense
// or sparse arrays to the file as they are. In other lines, the ranks hold blocks of columns, and
// each row of the file is combined from several blocks.
var storedTable = []stored{
	{"dense rows", "T(i,j) = S(i,j)", "mat:a:1", "dd", 1, "", "", 2},
	{"dense rows", "T(i,j) = S(i,j)", "mat:a:1", "dd", 2, "", "", 2},
	{"dense columns", "T(i,j) = S(i,j)", "mat:a:1", "dd", 2, "j:2", "j", 0},
	{"CSR rows", "T(i,j) = 2*S(i,j)", "a", "ds", 1, "", "", 2},
	{"CSR rows", "T(i,j) = 2*S(i,j)", "a", "ds", 2, "", "", 2},
	{"CSR columns", "T(i,j) = 2*S(i,j)", "a", "ds", 2, "j:2", "j", 2},
	{"DCSR columns", "T(i,j) = 2*S(i,j)", "a", "ss", 2, "j:2", "j", 2},
	{"sss last mode", "T(i,j,k) = 2*S(i,j,k)", "c", "sss", 2, "k:2", "k", 2},
}

// store prints the section of storing. It compares two times, which are measured alternately: the
// time that a job takes to store a .tcs result on the disk, and the time of write() and fsync()
// with the same bytes and a file in the same folder.
func store(b *bench) error {
	dir, err := os.MkdirTemp("", "distaff-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.printf("%-22s %8s %8s %12s %12s %7s %6s\n", "result", "ranks", "MB", "store ms", "write ms",
		"ratio", "limit")
	for _, k := range storedTable {
		if !b.wants(k.name) {
			continue
		}
		if err := b.storeLine(k, dir); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func (b *bench) storeLine(k stored, dir string) error {
	t, err := b.input(k.input)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "t.tcs")
	j := &spmd.Job{Statement: k.stmt, Formats: map[string]string{"T": k.format},
		Inputs:  map[string]spmd.Input{"S": spmd.InMemory(t)},
		Outputs: []spmd.Output{{Tensor: "T", File: path}}}
	j.Ranks, j.Threads = k.ranks, 1
	if k.split != "" {
		j.Splits, j.Map = []string{k.split}, k.mapping
	}
	var ours, theirs []float64
	var bytes int
	for range b.rounds {
		report, err := j.Run(b.ctx)
		if err != nil {
			return err
		}
		ours = append(ours, report.Stats.Phases.Store)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bytes = len(data)
		took, err := plainWrite(filepath.Join(dir, "plain"), data)
		if err != nil {
			return err
		}
		theirs = append(theirs, took)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	ratio := median(ours) / median(theirs)
	limit := "-"
	if k.limit > 0 {
		limit = fmt.Sprintf("%.2f", k.limit)
	}
	b.printf("%-22s %8d %8d %12.2f %12.2f %7.2f %6s%s\n", k.name, k.ranks, bytes>>20,
		1e3*median(ours), 1e3*median(theirs), ratio, limit, b.over(k.limit > 0 && ratio > k.limit))
	return nil
}

// plainWrite writes data to a new file with write() and fsync, and returns the time. It removes the
// file.
func plainWrite(path string, data []byte) (float64, error) {
	at := time.Now()
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	for len(data) > 0 {
		n, err := f.Write(data[:min(len(data), 1<<20)])
		if err != nil {
			return 0, err
		}
		data = data[n:]
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return time.Since(at).Seconds(), nil
}
