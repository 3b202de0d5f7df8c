package spmd_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"distaff/spmd"
)

// TestProgramMoves compares the traffic of statements of a program, by Counters, with the minimum.
// Statements on scalars send nothing, because every rank has the scalars. A sum takes one exchange.
// A vector that every rank reads is sent once after each time that it is written.
func TestProgramMoves(t *testing.T) {
	const n = 60
	for _, ranks := range []int64{2, 3, 4} {
		err := spmd.Start(context.Background(), spmd.Options{Ranks: int(ranks), Target: spmd.Interpreter},
			func(p *spmd.Program) error {
				if err := setDense(p, "A", make([]float64, n*n), n, n); err != nil {
					return err
				}
				if err := setDense(p, "y", make([]float64, n), n); err != nil {
					return err
				}
				for _, c := range []struct {
					text            string
					messages, bytes int64 // sent, by all ranks
				}{
					{"y(i) = y(i) + 1", 0, 0},
					{"s = y(i) * y(i)", ranks, 8 * ranks},
					{"u = 2 * s + 1", 0, 0},
					{"x(i) = s / u * y(i)", 0, 0},
					{"z(i) = A(i,j) * y(j)", ranks, 8 * n},
					{"w(i) = A(i,j) * y(j) + s * z(i)", ranks, 8 * n},
					{"v(i) = y(i) * z(i)", 0, 0},
				} {
					for run := range 2 {
						if err := p.Do("y(i) = y(i) + 1"); err != nil {
							return err
						}
						before, err := p.Statistics()
						if err == nil {
							err = p.Do(c.text)
						}
						if err != nil {
							return err
						}
						after, err := p.Statistics()
						if err != nil {
							return err
						}
						messages, bytes := int64(0), int64(0)
						for r := range after {
							messages, bytes = messages+after[r].Messages-before[r].Messages,
								bytes+after[r].Sent-before[r].Sent
						}
						if p.Rank() == 0 && run > 0 && (messages != c.messages || bytes != c.bytes) {
							t.Errorf("%d ranks, %s: %d messages of %d bytes, want %d of %d", ranks, c.text, messages,
								bytes, c.messages, c.bytes)
						}
					}
				}
				return nil
			})
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
	}
}

// TestProgramSumsAsJobsDo checks that a sum over the ranks of a program has the same bits, at every
// rank, as in a job of equally many ranks.
func TestProgramSumsAsJobsDo(t *testing.T) {
	const n = 1000
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Sin(float64(i)) * math.Exp2(float64(i%40))
	}
	for _, ranks := range []int{2, 3, 5, 6, 7} {
		y, err := spmd.Dense(values, n)
		if err != nil {
			t.Fatal(err)
		}
		job := spmd.Job{Statement: "s = y(i) * y(i) * y(i)", Keep: true,
			Inputs:  map[string]spmd.Input{"y": spmd.InMemory(y)},
			Options: spmd.Options{Ranks: ranks, Target: spmd.Interpreter}}
		report, err := job.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := real(report.Result.Value(0).Complex())
		report.Result.Close()
		err = spmd.Start(context.Background(), spmd.Options{Ranks: ranks, Target: spmd.Interpreter},
			func(p *spmd.Program) error {
				if err := setDense(p, "y", values, n); err != nil {
					return err
				}
				for range 3 {
					if err := p.Do(job.Statement); err != nil {
						return err
					}
				}
				if v, err := p.Value("s"); err != nil || real(v.Complex()) != want {
					return fmt.Errorf("got %v at rank %d, %v, want %v", real(v.Complex()), p.Rank(), err, want)
				}
				return nil
			})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// TestProgramReplicas checks that the copies of a scalar or a vector at all ranks always have the
// current value, whichever operation sets it.
func TestProgramReplicas(t *testing.T) {
	onRanks(t, []int{1, 2, 3}, func(t *testing.T, p *spmd.Program) error {
		if err := setDense(p, "A", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3); err != nil {
			return err
		}
		if err := setDense(p, "v", []float64{1, 1, 1}, 3); err != nil {
			return err
		}
		see := func(s, y0 float64) error {
			for _, text := range []string{"y(i) = A(i,j) * v(j)", "y(i) = s * y(i)"} {
				if err := p.Do(text); err != nil {
					return err
				}
			}
			v, err := p.Value("s")
			if err == nil && real(v.Complex()) != s {
				t.Errorf("s is %v at rank %d, want %v", real(v.Complex()), p.Rank(), s)
			}
			if err != nil {
				return err
			}
			return holds(t, p, "y", map[string]float64{"[0]": y0, "[1]": y0 / 6 * 15, "[2]": y0 / 6 * 24})
		}
		if err := p.Set("s", spmd.Scalar(2.0), spmd.Storage{}); err != nil {
			return err
		}
		if err := see(2, 12); err != nil {
			return err
		}
		if err := p.Do("s = v(i) * v(i)"); err != nil {
			return err
		}
		if err := see(3, 18); err != nil {
			return err
		}
		for n, mode := range []int{0, -1} {
			if err := p.Place("v", mode); err != nil {
				return err
			}
			if err := p.Do("v(i) = 2 * v(i)"); err != nil {
				return err
			}
			if err := see(3, float64(n+1)*36); err != nil {
				return err
			}
		}
		if err := p.Place("s", -1); err != nil {
			return err
		}
		if err := p.Do("s = s + 1"); err != nil {
			return err
		}
		if err := see(4, 96); err != nil {
			return err
		}
		if err := p.Set("s", spmd.Scalar(5.0), spmd.Storage{}); err != nil {
			return err
		}
		return see(5, 120)
	})
}
