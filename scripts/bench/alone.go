package main

import (
	"fmt"
	"strings"
	"time"

	emitc "distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd"
)

// alone is a leaf that a loop in C calls repeatedly, so that the measured time does not include the
// overhead of calls from Go. The result of the leaf's statement must be dense.
type alone struct {
	leaf   kernels.Leaf
	args   []*tcs.Tensor // the result comes first
	bounds [][2]int64    // bounds of the leaf, followed by 0 and the number of calls
	env    kernels.Env
}

// manyCalls is the C code of a loop that calls a leaf repeatedly. It gets the number of calls as an
// additional element after the leaf's own bounds. The volatile pointer prevents the compiler from
// combining calls.
const manyCalls = `
int many_calls(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int (*volatile one_call)(dst_tensor **, const int64_t (*)[2], dst_env *) = %s;
    int rc = 0;
    for (int64_t k = 0; k < bounds[%d][1] && rc == 0; k++)
        rc = one_call(t, bounds, env);
    return rc;
}
`

// alone compiles a statement over operands in memory with the same settings as a job, and allocates
// a result tensor for the statement. It does not run the leaf.
func (b *bench) alone(stmt string, operands map[string]*tcs.Tensor, threads int) (*alone, error) {
	j := &spmd.Job{Statement: stmt, Inputs: map[string]spmd.Input{}}
	for name, t := range operands {
		j.Inputs[name] = spmd.InMemory(t)
	}
	made, err := j.Compile(b.ctx, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stmt, err)
	}
	u := made.Unit
	object, err := b.object(made.Source() + fmt.Sprintf(manyCalls, emitc.Symbol(u.Func.Name),
		len(u.Vars)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stmt, err)
	}
	a := &alone{env: kernels.Env{Threads: threads, Arena: kernels.NewArena(nil), What: stmt}}
	for n, arg := range u.Args {
		t := operands[arg.Tensor]
		if n == 0 {
			dims := u.Request.Tensors.All[arg.Tensor].Dims
			shape := &tcs.Shape{Header: tcs.Header{Dims: dims, Type: tensor.Float64},
				Format: tensor.FormatOf(strings.Repeat("d", len(dims)), tensor.Identity(len(dims))),
				Counts: make([]int64, len(dims))}
			if t, err = tcs.NewIn(shape, arg.Tensor, a.env.Arena.Alloc); err != nil {
				return nil, err
			}
		}
		if arg.Convert || t == nil {
			return nil, fmt.Errorf("%s: an argument of the leaf is no operand: %s", stmt, arg.Name)
		}
		a.args = append(a.args, t)
	}
	for _, v := range u.Vars {
		a.bounds = append(a.bounds, [2]int64{0, u.Request.Tensors.Sizes[v]})
	}
	a.bounds = append(a.bounds, [2]int64{})
	a.leaf, err = kernels.Load(object, "many_calls")
	return a, err
}

func (a *alone) close() {
	a.leaf.Close()
	a.args[0].Close()
}

// seconds calls the leaf the given number of times, and returns the time of one call.
func (a *alone) seconds(b *bench, calls int) (float64, error) {
	a.bounds[len(a.bounds)-1][1] = int64(calls)
	at := time.Now()
	err := a.leaf.Call(b.ctx, a.args, a.bounds, a.env)
	return time.Since(at).Seconds() / float64(calls), err
}

// leavesOfStep returns the leaves of one step of conjugate gradients, over the first rows of a
// system. The leaves read and write different tensors, so repeated calls do not change the values
// that they read.
func (b *bench) leavesOfStep(s *system, rows int64) (list []*alone, err error) {
	A, err := s.rows(rows)
	if err != nil {
		return nil, err
	}
	part, err := spmd.Dense(s.right[:rows], rows)
	if err != nil {
		return nil, err
	}
	one, err := spmd.Dense([]float64{1})
	if err != nil {
		return nil, err
	}
	operands := map[string]*tcs.Tensor{"A": A, "all": s.b, "p": part, "q": part, "r": part,
		"x": part, "rr": one, "pq": one, "old": one}
	for _, leaf := range []struct{ stmt, operands string }{
		{"out(i) = A(i,j) * all(j)", "A all"},
		{"out = p(i) * q(i)", "p q"},
		{"out(i) = x(i) + rr / pq * p(i)", "x rr pq p"},
		{"out(i) = r(i) - rr / pq * q(i)", "r rr pq q"},
		{"out = rr", "rr"},
		{"out = r(i) * r(i)", "r"},
		{"out(i) = r(i) + rr / old * p(i)", "r rr old p"},
	} {
		mine := map[string]*tcs.Tensor{}
		for _, name := range strings.Fields(leaf.operands) {
			mine[name] = operands[name]
		}
		a, err := b.alone(leaf.stmt, mine, 1)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
