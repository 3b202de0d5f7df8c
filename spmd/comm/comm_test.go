package comm

import (
	"context"
	"distaff/io/tensor"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestTree checks the shape of the reduction's tree: every rank except the root sends once, a
// receive comes from the neighbouring block, and the operands are in order of rank.
func TestTree(t *testing.T) {
	for p := 1; p <= 33; p++ {
		for root := range p {
			expr := make([]string, p) // what each rank holds
			for r := range p {
				expr[r] = fmt.Sprint(r)
			}
			type move struct{ from, to int }
			var sends []move
			moves := map[move]bool{} // received by left operand?
			level := map[move]int{}
			for r := range p {
				n := 0
				sent := false
				err := walkTree(p, r, root, func(from int, left bool) error {
					moves[move{from, r}] = left
					level[move{from, r}] = n
					n++
					return nil
				}, func(to int) error {
					sends = append(sends, move{r, to})
					sent = true
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if sent == (r == root) {
					t.Fatalf("%d ranks, root %d: rank %d sends: %v", p, root, r, sent)
				}
			}
			if len(sends) != p-1 || len(moves) != p-1 {
				t.Fatalf("%d ranks, root %d: %d sends, %d receives", p, root, len(sends), len(moves))
			}
			for _, m := range sends {
				if _, ok := moves[m]; !ok {
					t.Fatalf("%d ranks, root %d: nobody receives %v", p, root, m)
				}
			}
			// Replay each rank's receives in order, children first.
			var value func(r int) string
			value = func(r int) string {
				var ins []move
				for m := range moves {
					if m.to == r {
						ins = append(ins, m)
					}
				}
				acc := fmt.Sprint(r)
				for k := range ins {
					for _, m := range ins {
						if level[m] != k {
							continue
						}
						if moves[m] {
							acc = "(" + value(m.from) + "+" + acc + ")"
						} else {
							acc = "(" + acc + "+" + value(m.from) + ")"
						}
					}
				}
				return acc
			}
			if got, want := value(root), bracket(0, p); got != want {
				t.Fatalf("%d ranks, root %d: %s, want %s", p, root, got, want)
			}
		}
	}
}

func bracket(lo, n int) string {
	if n == 1 {
		return fmt.Sprint(lo)
	}
	half := 1
	for half*2 < n {
		half *= 2
	}
	return "(" + bracket(lo, half) + "+" + bracket(lo+half, n-half) + ")"
}

func TestCut(t *testing.T) {
	for _, n := range []int64{0, 1, 7, 1 << 40} {
		for p := 1; p < 9; p++ {
			if cut(n, 0, p) != 0 || cut(n, p, p) != n {
				t.Errorf("cut %d into %d: from %d to %d", n, p, cut(n, 0, p), cut(n, p, p))
			}
			for i := range p {
				if d := cut(n, i+1, p) - cut(n, i, p); d < n/int64(p) || d > n/int64(p)+1 {
					t.Errorf("part %d of %d in %d has %d", i, p, n, d)
				}
			}
		}
	}
}

func TestNeutral(t *testing.T) {
	x := []float64{3}
	for _, k := range []struct {
		op   Op
		want float64
	}{{Sum, 0}, {Prod, 1}, {Min, math.Inf(1)}, {Max, math.Inf(-1)}} {
		setNeutral(k.op, Of(x))
		if x[0] != k.want {
			t.Errorf("neutral of %v is %v, want %v", k.op, x[0], k.want)
		}
		y := []float64{2.5}
		f, err := combinerOf(k.op, tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		f(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), 1)
		if y[0] != 2.5 {
			t.Errorf("%v with its neutral element changes 2.5 to %v", k.op, y[0])
		}
	}
	i := []int32{0}
	for op, want := range map[Op]int32{And: -1, Or: 0, Min: math.MaxInt32, Max: math.MinInt32} {
		if setNeutral(op, Of(i)); i[0] != want {
			t.Errorf("neutral of %v is %d, want %d", op, i[0], want)
		}
	}
}

func TestErrors(t *testing.T) {
	e := &Error{Rank: 2, Op: "Irecv", Peer: 0, Tag: 7, Err: ErrTruncated}
	if got, want := e.Error(),
		"rank 2: Irecv from rank 0, tag 7: the message is longer than the buffer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if ExitCode(nil) != 0 || ExitCode(e) != 1 ||
		ExitCode(fmt.Errorf("x: %w", &Interrupted{syscall.SIGTERM})) != 143 ||
		ExitCode(&Interrupted{os.Interrupt}) != 130 {
		t.Error("exit codes")
	}
	in := &RankError{Rank: 1, Code: 5, Err: errors.New("x")}
	if Failure(3, 4, in) != error(in) || ExitCode(Failure(3, 4, &Error{Err: in})) != 5 {
		t.Error("a failure lost whose it is")
	}
	if got := Failure(0, 1, &Error{Err: errors.New("y")}); got.Error() != (&Error{Err: errors.New("y")}).Error() || ExitCode(got) != 1 {
		t.Errorf("of a job of one rank: got %q", got)
	}
	if got := Failure(3, 4, errors.New("y")).Error(); got != "[3] y" {
		t.Errorf("%q", got)
	}
}

func TestPlaceNotes(t *testing.T) {
	cpus := func(list ...int) []int { return list }
	for _, k := range []struct {
		name    string
		places  []Place
		threads int
		want    []string
	}{
		{"fits", []Place{{Node: "a", CPUs: cpus(0, 1)}, {Node: "a", CPUs: cpus(2, 3)}}, 2, nil},
		{"unbound", []Place{{Node: "a", CPUs: cpus(0, 1, 2, 3)}, {Node: "a", CPUs: cpus(0, 1, 2, 3)}}, 2,
			nil},
		{"bound", []Place{{Node: "a", CPUs: cpus(0)}, {Node: "a", CPUs: cpus(1)},
			{Node: "b", CPUs: cpus(0, 1)}}, 2,
			[]string{"ranks 0-1 are bound to 1 core but should run 2 threads each; either give each rank 2 cores (mpirun --map-by slot:PE=2 or --bind-to none; srun --cpus-per-task=2) or use fewer --threads",
				": 2 ranks of 2 threads share 2 cores"}},
		{"shared", []Place{{Node: "a", Host: "n1", CPUs: cpus(0, 1)},
			{Node: "a", Host: "n1", CPUs: cpus(0, 1)}, {Node: "a", Host: "n1", CPUs: cpus(0, 1)}}, 1,
			[]string{"n1: 3 ranks of 1 thread share 2 cores and slow each other down"}},
		{"unknown", []Place{{Node: "a"}, {Node: "a"}}, 8, nil},
	} {
		got := PlaceNotes(k.places, k.threads)
		if len(got) != len(k.want) {
			t.Errorf("%s: %q, want %q", k.name, got, k.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], k.want[i]) {
				t.Errorf("%s: %q, want %q", k.name, got[i], k.want[i])
			}
		}
	}
	if got := rankList([]int{0, 1, 2, 5, 7, 8}); got != "ranks 0-2, 5, 7-8 are" {
		t.Error(got)
	}
	if l, n := Local([]Place{{Node: "a"}, {Node: "b"}, {Node: "a"}, {Node: "a"}}, 2); l != 1 ||
		n != 3 {
		t.Errorf("local %d of %d, want 1 of 3", l, n)
	}
}

// TestSignals checks that a signal cancels the context with its cause, and that a process that does
// not return is cleaned up and ended. The test binary is that process.
func TestSignals(t *testing.T) {
	if os.Getenv("COMM_SIGNALS") != "" {
		OnExit(func() { fmt.Println("cleaned up") })
		OnExit(func() { fmt.Println("forgotten") })()
		ctx, _ := Signals(context.Background())
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		time.Sleep(time.Minute) // a leaf that does not stop
	}
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		cmd := exec.Command(os.Args[0], "-test.run=TestSignals$")
		cmd.Env = append(os.Environ(), "COMM_SIGNALS=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text := ""
		b := make([]byte, 100)
		for n := 0; err == nil; n, err = out.Read(b) {
			if text += string(b[:n]); text == "ready\n" {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, want %d", sig, got, code)
		}
		if want := fmt.Sprintf("ready\ninterrupted by %s\ncleaned up\n", SignalName(sig)); text != want {
			t.Errorf("%v: said %q, want %q", sig, text, want)
		}
	}
}

// TestSharing checks that ranks of one node share cores if their affinity masks overlap.
func TestSharing(t *testing.T) {
	places := []Place{
		{Node: "a", CPUs: []int{0, 1}}, {Node: "a", CPUs: []int{0, 1}}, {Node: "a", CPUs: []int{2, 3}},
		{Node: "b", CPUs: []int{0, 1}}, {Node: "c"},
	}
	for r, want := range []int{2, 2, 1, 1, 1} {
		if got := Sharing(places, r); got != want {
			t.Errorf("rank %d shares its cores with %d ranks, want %d", r, got, want)
		}
	}
}
