package reference

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"distaff/io/tensor"
)

// teamProblem returns a statement over random tensors whose sizes are the sizes of its variables.
func teamProblem(t *testing.T, src string, ty tensor.Type, sizes map[string]int64, entries int,
	seed int64) Problem {
	t.Helper()
	p := problem(t, src, ty, sizes)
	r := rand.New(rand.NewSource(seed))
	for _, a := range p.Normal.Accesses() {
		dims := make([]int64, len(a.Vars))
		for m, v := range a.Vars {
			dims[m] = p.Sizes[v]
		}
		x := NewTensor(ty, dims...)
		coord := make([]int64, len(dims))
		for range entries {
			for m, d := range dims {
				coord[m] = r.Int63n(d)
			}
			if ty.IsInt() {
				x.Append(coord, Int(r.Int63n(9)-1))
			} else {
				x.Append(coord, Float(r.NormFloat64()))
			}
			if len(dims) == 0 {
				break
			}
		}
		p.Tensors[a.Name] = x.Finish()
	}
	return p
}

// gathered returns every point of a problem as text, with the ranges in order, and the error.
func gathered(p Problem, threads int) (string, error) {
	var mu sync.Mutex
	ranges := map[int64]*gathering{}
	err := NewTeam(p, threads).Each(context.Background(), func(lo, hi int64) (Visitor, error) {
		g := &gathering{lo: lo, hi: hi}
		mu.Lock()
		defer mu.Unlock()
		ranges[lo] = g
		return g, nil
	})
	if err != nil {
		return "", err
	}
	var los []int64
	for lo := range ranges {
		los = append(los, lo)
	}
	slices.Sort(los)
	out, next := "", int64(0)
	for _, lo := range los {
		g := ranges[lo]
		if lo != next || !g.closed {
			return "", fmt.Errorf("range [%d,%d), closed %v: want it closed and from %d", lo, g.hi, g.closed,
				next)
		}
		out += g.text.String()
		next = g.hi
	}
	return out, nil
}

type gathering struct {
	lo, hi int64
	text   strings.Builder
	closed bool
}

func (g *gathering) Point(coord []int64, p Point) error {
	if len(coord) > 0 && (coord[0] < g.lo || coord[0] >= g.hi) {
		return fmt.Errorf("point %v in range [%d,%d)", coord, g.lo, g.hi)
	}
	fmt.Fprintf(&g.text, "%v %+v\n", coord, p)
	return nil
}

func (g *gathering) Close() error { g.closed = true; return nil }

// TestTeam checks that points, to the last bit, and errors are the same for any number of threads,
// and that the points agree with At except for the order of the sums.
func TestTeam(t *testing.T) {
	sizes := map[string]int64{"i": 90, "j": 80, "k": 70, "l": 85, "s": 5, "h": 1 << 40, "g": 1 << 41}
	for _, src := range []string{
		"A(i,l) = B(i,j)*C(j,k)*D(k,l)",
		"A(i,l) = B(l,j)*C(j,i)",
		"A(i) = B(i,j)*C(j) - D(i)/2",
		"A(i,j) = B(i,j) + c(i)",
		"a = B(i,j)*C(j,k)",
		"a = B(i,j)*2 + c(k)",
		"a = 3 + 4*b",
		"A(s,l) = B(s,j)*C(j,l)",
		"A(s,h) = B(s,j)*C(j,h)",
		"A(h,i) = B(h,j)*C(j,i)",
		"A(i,h,g) = B(i,h)*C(h,g)",
		"A(i) = B(i,j)*sum(k, C(j,k)*D(k,i))",
		"A(i) = B(i,i)*C(i,j)",
		"A(i,j) = B(i,j)/C(i,j)",
		"A(s) = B(s,j)/C(s,j)",
		"a = B(i)/C(i)",
		"A(i) = 1",
	} {
		for _, ty := range []tensor.Type{tensor.Float64, tensor.Int32} {
			p := teamProblem(t, src, ty, sizes, 700, 7)
			want, wantErr := gathered(p, 1)
			for _, threads := range []int{2, 3, 8} {
				got, err := gathered(p, threads)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s, %v, %d threads: got the error %v, want %v", src, ty, threads, err, wantErr)
				}
				if got != want {
					t.Errorf("%s, %v, %d threads: got other points than one thread", src, ty, threads)
				}
			}
			if wantErr != nil {
				continue
			}
			e, at := New(p), New(p)
			err := e.Each(context.Background(), func(coord []int64, q Point) error {
				w, err := at.At(coord)
				if err != nil {
					return err
				}
				if !q.Present || !w.Present || q.Exact != w.Exact || q.Ops != w.Ops || !q.Agrees(w.Value) {
					return fmt.Errorf("at %v: %+v and %+v", coord, q, w)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s, %v: %v", src, ty, err)
			}
		}
	}
}

// TestTeamSamples checks that At returns the point of each coordinate, and the first error.
func TestTeamSamples(t *testing.T) {
	p := teamProblem(t, "A(i,j) = B(i,k)/C(k,j)", tensor.Int64,
		map[string]int64{"i": 50, "j": 50, "k": 50}, 300, 3)
	coords := make([][]int64, 2500)
	for k := range coords {
		coords[k] = []int64{int64(k % 50), int64(k / 50)}
	}
	var want string
	for _, threads := range []int{1, 2, 3, 8} {
		points := make([]Point, len(coords))
		err := NewTeam(p, threads).At(context.Background(), len(coords),
			func(k int) []int64 { return coords[k] }, func(k int, p Point) { points[k] = p })
		if err == nil {
			t.Fatal("got no error, want a division by zero")
		}
		if threads == 1 {
			want = err.Error()
		} else if err.Error() != want {
			t.Errorf("%d threads: got %v, want %s", threads, err, want)
		}
	}
}

// TestTeamEnds checks that the end of a context stops the evaluation within a large row, and that a
// Visitor's error stops the other ranges.
func TestTeamEnds(t *testing.T) {
	p := teamProblem(t, "A(i) = B(i) + C(j)*D(k)*E(l)", tensor.Float64,
		map[string]int64{"i": 200, "j": 3000, "k": 3000, "l": 3000}, 5000, 1)
	for _, threads := range []int{1, 3} {
		team := NewTeam(p, threads)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for {
				if _, total := team.Progress(); total > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		err := team.Each(ctx, func(lo, hi int64) (Visitor, error) {
			return &gathering{lo: lo, hi: hi},
				nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d threads: got %v, want that the context ended", threads, err)
		}
		cancel()
	}
	p = teamProblem(t, "A(i) = B(i)*2", tensor.Float64, map[string]int64{"i": 500}, 5000, 1)
	for _, threads := range []int{1, 2, 8} {
		team := NewTeam(p, threads)
		err := team.Each(context.Background(), func(lo, hi int64) (Visitor, error) {
			return visitor(func(coord []int64, _ Point) error {
				if coord[0] >= 123 {
					return fmt.Errorf("at %d", coord[0])
				}
				return nil
			}), nil
		})
		if err == nil || err.Error() != "at 123" {
			t.Errorf("%d threads: got %v, want the error at 123", threads, err)
		}
		// The team is as good as new.
		err = team.Each(context.Background(),
			func(lo, hi int64) (Visitor, error) {
				return visitor(func([]int64, Point) error { return nil }),
					nil
			})
		if done, total := team.Progress(); err != nil || done != total || total == 0 {
			t.Errorf("%d threads: got %v and %d of %d done, want all", threads, err, done, total)
		}
	}
}
