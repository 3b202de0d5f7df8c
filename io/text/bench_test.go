package text

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/io/tensor"
)

// lines makes n entries of order 3, with values as a program prints them.
func lines(n int, format string) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for range n {
		fmt.Fprintf(&b, "%d %d %d "+format+"\n", r.IntN(50000)+1, r.IntN(20000)+1, r.IntN(5000)+1,
			r.Float64())
	}
	return b.Bytes()
}

var formats = map[string]string{"6digits": "%.6f", "shortest": "%v", "17digits": "%.16e"}

// cpuRate reports the bytes a second of processor time, which other processes
// on the machine disturb less than the clock on the wall.
func cpuRate(b *testing.B, size int) (stop func()) {
	now := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	start := now()
	return func() { b.ReportMetric(float64(size)*float64(b.N)/(now()-start)/1e6, "cpuMB/s") }
}

func BenchmarkParse(b *testing.B) {
	for name, f := range formats {
		b.Run(name, func(b *testing.B) {
			text := lines(1000000, f)
			l := &Layout{File: "x", Order: 3, Values: 1, Base: 1,
				Lims: []int64{1 << 40, 1 << 40, 1 << 40}, Comment: '#', Type: tensor.Float64}
			b.SetBytes(int64(len(text)))
			defer cpuRate(b, len(text))()
			for b.Loop() {
				p := newPipe(io.NopCloser(bytes.NewReader(text)), "x", 1, BlockSize,
					func(blk *Block) {
						l.Parse(blk)
						blk.SetMax()
					})
				n := 0
				for {
					blk, err := p.Next()
					if err == io.EOF {
						break
					}
					n += blk.N
				}
				if n != 1000000 {
					b.Fatal(n)
				}
			}
		})
	}
}

// BenchmarkScanner is the reader to beat: bufio.Scanner, strings.Fields, strconv.
func BenchmarkScanner(b *testing.B) {
	for name, f := range formats {
		b.Run(name, func(b *testing.B) {
			text := lines(1000000, f)
			b.SetBytes(int64(len(text)))
			defer cpuRate(b, len(text))()
			for b.Loop() {
				s := bufio.NewScanner(bytes.NewReader(text))
				var cols [3][]int64
				var vals []float64
				for s.Scan() {
					fs := strings.Fields(s.Text())
					for m := range 3 {
						v, err := strconv.ParseInt(fs[m], 10, 64)
						if err != nil {
							b.Fatal(err)
						}
						cols[m] = append(cols[m], v-1)
					}
					v, err := strconv.ParseFloat(fs[3], 64)
					if err != nil {
						b.Fatal(err)
					}
					vals = append(vals, v)
				}
				sink = vals
			}
		})
	}
}

// sink keeps a benchmark's work alive.
var sink []float64
