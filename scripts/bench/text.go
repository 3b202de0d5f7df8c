package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tensor"
)

// texts prints the section of reading text files. The files are in the page cache. texts measures
// the parsing of a file on one thread, and the conversion of a file to .tcs. Both times are
// compared with the time of a simple reader (scanAll). texts also measures memory.
func texts(b *bench) error {
	dir, err := os.MkdirTemp("", "bench-text-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n := int(b.scaled(5000000))
	tnsFile, mtxFile := filepath.Join(dir, "sorted.tns"), filepath.Join(dir, "a.mtx")
	if err := writeText(tnsFile, "", n, true, 50000, 20000, 5000); err != nil {
		return err
	}
	if err := writeText(mtxFile, fmt.Sprintf(
		"%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 %d\n", n), n, false,
		1000000, 1000000); err != nil {
		return err
	}
	b.printf("%-28s %12s %12s %7s %6s\n", "text", "distaff ms", "scanner ms", "ratio", "limit")
	parse := func(path string) func() error {
		return func() error { return readAll(path, n) }
	}
	for _, x := range []struct {
		name  string
		limit float64
		ours  func() error
		path  string
		skip  int
		order int
	}{
		{"parse .tns, one core", 4, parse(tnsFile), tnsFile, 0, 3},
		{"parse .mtx, one core", 4, parse(mtxFile), mtxFile, 2, 2},
		{"sorted .tns to sss .tcs", 1.5, func() error {
			return convert.File(tnsFile, filepath.Join(dir, "out.tcs"),
				convert.Options{HasFormat: true, Format: tensor.FormatOf("sss", nil)})
		}, tnsFile, 0, 3},
	} {
		if !b.wants(x.name) {
			continue
		}
		var ours, theirs []float64
		for range b.rounds {
			for _, side := range []struct {
				run   func() error
				times *[]float64
			}{{x.ours, &ours}, {func() error { return scanAll(x.path, x.skip, x.order, n) },
				&theirs}} {
				at := time.Now()
				if err := side.run(); err != nil {
					return fmt.Errorf("%s: %w", x.name, err)
				}
				*side.times = append(*side.times, time.Since(at).Seconds())
			}
		}
		ratio := median(theirs) / median(ours)
		b.printf("%-28s %12.2f %12.2f %7.2f %6.2f%s\n", x.name, 1e3*median(ours),
			1e3*median(theirs), ratio, x.limit, b.over(ratio < x.limit))
	}
	if !b.wants("memory") {
		return nil
	}
	return b.textMemory(dir, n)
}

// textMemory runs the command to convert an unsorted file of 8 times the memory limit. It prints
// two peaks of the process: its own memory, which the limit restricts, and all its memory, with the
// pages of mapped files.
func (b *bench) textMemory(dir string, n int) error {
	exe, err := b.command(dir)
	if err != nil {
		return err
	}
	in := filepath.Join(dir, "unsorted.tns")
	if err := writeText(in, "", 4*n, false, 50000, 20000, 5000); err != nil {
		return err
	}
	info, err := os.Stat(in)
	if err != nil {
		return err
	}
	limit := info.Size() / 8
	own, all, err := peakMemory(exe, "convert", in, filepath.Join(dir, "unsorted.tcs"),
		"--format=sss", fmt.Sprintf("--memory-limit=%d", limit), "--tmp="+dir)
	if err != nil {
		return err
	}
	b.printf("\nan unsorted .tns of %s under a limit of %s: at most %s of its own%s, %s "+
		"resident with mapped files\n",
		tensor.Bytes(info.Size()), tensor.Bytes(limit), tensor.Bytes(own), b.over(own > limit),
		tensor.Bytes(all))
	return nil
}

// peakMemory runs a command and returns its peak memory in bytes. own is the peak of its anonymous
// memory, and all is the peak of its resident memory. peakMemory reads both from /proc until the
// command ends. It does not use wait4, because the numbers from wait4 include memory of the process
// that started the command.
func peakMemory(argv ...string) (own, all int64, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return own, all, err
		case <-time.After(2 * time.Millisecond):
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if err != nil {
				continue // it has just ended
			}
			own = max(own, statusBytes(string(text), "RssAnon:"))
			all = max(all, statusBytes(string(text), "VmHWM:"))
		}
	}
}

// statusBytes returns a figure of /proc/PID/status, or 0 if the figure is absent.
func statusBytes(text, key string) int64 {
	_, rest, _ := strings.Cut(text, key)
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}

// writeText writes a text file of head and n random entries, whose values have the digits that a
// program would print. If sorted is true, the entries are in lexicographic order, mode 0 first.
func writeText(path, head string, n int, sorted bool, dims ...int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	w.WriteString(head)
	r := rand.New(rand.NewPCG(1, 1))
	var line []byte
	for k := range n {
		line = line[:0]
		for m, d := range dims {
			c := r.IntN(d)
			switch {
			case sorted && m == 0:
				c = k / 100 * d / (n/100 + 1)
			case sorted && m == 1: // a hundred entries for each coordinate of the mode above
				c = (k%100*d + c) / 100
			}
			line = append(strconv.AppendInt(line, int64(c)+1, 10), ' ')
		}
		line = append(strconv.AppendFloat(line, r.Float64(), 'g', -1, 64), '\n')
		w.Write(line)
	}
	return w.Flush() // Flush returns the first error of all writes
}

// readAll parses a file on one thread.
func readAll(path string, n int) error {
	s, err := convert.Open(path, coo.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	var batch coo.Batch
	for got := 0; ; got += batch.N {
		if err := s.Next(&batch); errors.Is(err, io.EOF) {
			if got != n {
				return fmt.Errorf("%d entries, want %d", got, n)
			}
			return nil
		} else if err != nil {
			return err
		}
	}
}

// scanAll reads a file in the simple way that the parser is compared with: by bufio.Scanner,
// strings.Fields and strconv, storing the entries in slices.
func scanAll(path string, skip, order, n int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	coords := make([][]int64, order)
	var vals []float64
	for k := 0; s.Scan(); k++ {
		if k < skip {
			continue
		}
		fields := strings.Fields(s.Text())
		for m := range coords {
			c, err := strconv.ParseInt(fields[m], 10, 64)
			if err != nil {
				return err
			}
			coords[m] = append(coords[m], c-1)
		}
		v, err := strconv.ParseFloat(fields[order], 64)
		if err != nil {
			return err
		}
		vals = append(vals, v)
	}
	if len(vals) != n {
		return fmt.Errorf("%d entries, want %d", len(vals), n)
	}
	return s.Err()
}
