package spmd_test

import (
	"context"
	"slices"
	"testing"

	"distaff/codegen/notation"
	"distaff/spmd"
)

// TestScheduledForms runs schedules of every form on integer data and compares the results with the
// reference: workspaces over tiles, results that are counted first, several ranks and blocks, and
// schedules that were wrong once.
func TestScheduledForms(t *testing.T) {
	matrix := map[string][]int64{"A": {41, 23}}
	add, both := "C(i,j) = A(i,j) + B(i,j)", map[string][]int64{"A": {41, 23}, "B": {41, 23}}
	spmv := "y(i) = A(i,j) * x(j)"
	for _, c := range []struct {
		name, stmt string
		formats    map[string]string
		sizes      map[string][]int64
		schedule   string
		ranks      int
		splits     []string
	}{
		{"a tile of coordinates", spmv, map[string]string{"A": "ds"}, matrix,
			"split(j,j0,j1,8),precompute(x(j),j1,jw,W),parallelize(i,CPUThread,NoRaces)", 1, nil},
		{"a tile of rows", spmv, map[string]string{"A": "ds"}, matrix,
			"split(i,i0,i1,8),precompute(A(i,j)*x(j),i1,iw,W)", 1, nil},
		{"a tile of rows and columns", spmv, map[string]string{"A": "ds"}, matrix,
			"split(i,i0,i1,8),precompute(A(i,j)*x(j),{i1,j},{iw,jw},W)", 1, nil},
		{"a tile of a row's positions", spmv, map[string]string{"A": "ds"}, matrix,
			"pos(j,p,A),split(p,p0,p1,3),precompute(x(j)*A(i,j),p1,p1,W)", 1, nil},
		{"a tile of all positions", spmv, map[string]string{"A": "ds"}, matrix,
			"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16),precompute(A(i,j)*x(j),p1,pw,W),parallelize(p0,CPUThread,Atomics)", 1, nil},
		{"zeros of a tile of a tile", "y(i) = b(i)", nil, map[string][]int64{"b": {21}},
			"split(i,x0,y0,2),split(y0,x6,y6,1),precompute(b(i),y6,x7,W7),parallelize(y6,CPUThread,Temporary,4),parallelize(x0,CPUThread,NoRaces,2)", 1, nil},
		{"a workspace, split afterwards", "y(k) = b * A(k,i)", map[string]string{"A": "ds", "y": "s"},
			matrix, "split(k,x1,y1,4)", 1, nil},

		{"a workspace in a sum of floats", "a(l) = sum(m, B(m) - C(l,m))",
			map[string]string{"B": "s", "C": "ds"}, map[string][]int64{"B": {29}, "C": {11, 29}},
			"precompute(C(l,m),m,x,W),split(x,x0,x1,3),reorder(x1,x0)", 1, nil},

		// Forms of TACO and DISTAL, which differ in spelling or in order.
		{"sums of tiles", "a = b(i) * c(i)", map[string]string{"b": "s"},
			map[string][]int64{"b": {23}}, "split(i,i0,i1,5),precompute(b(i)*c(i),i0,i0,W)", 1, nil},
		{"sums of tiles, of workspaces", "a = b(i) * c(i)", nil, map[string][]int64{"b": {23}},
			"bound(i,ib,MaxExact,23),split(ib,i0,i1,5),precompute(b(i)*c(i),i0,i0,W)," +
				"precompute(b(i),i1,i1,V),precompute(c(i),i1,i1,U)", 1, nil},
		{"sums of tiles, on threads", "a = b(i) * c(i)", map[string]string{"b": "s"},
			map[string][]int64{"b": {23}}, "parallelize(i0,CPUThread,ParallelReduction)," +
				"split(i,i0,i1,5),precompute(b(i)*c(i),i0,i0p,W)", 2, nil},
		{"sums of tiles of a row", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
			map[string][]int64{"A": {41, 23}, "B": {23, 17}}, "parallelize(i,CPUThread,NoRaces)," +
				"divide(j,j0,j1,4),order({i,j0,k,j1}),precompute(A(i,j)*B(j,k),{j0,k},{j0,k},W)", 1, nil},
		{"collapsed, after parallelize", spmv, map[string]string{"A": "ds"}, matrix,
			"parallelize(p0,CPUThread,Atomics),collapse({i,j},f),pos(f,p,A),split(p,p0,p1,16)", 2, nil},
		{"assembled, the third argument", add, map[string]string{"A": "ds", "B": "ss", "C": "ds"}, both,
			"parallelize(i0,CPUThread,NoRaces),split(i,i0,i1,4),assemble(C,Insert,false)", 1, nil},

		{"counted, serial", add, map[string]string{"A": "ds", "B": "ss", "C": "ds"}, both,
			"assemble(C,Insert)", 1, nil},
		{"counted, compressed twice", add, map[string]string{"A": "ds", "B": "ss", "C": "ss"}, both,
			"assemble(C,Insert),split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces)", 1, nil},
		{"counted, rows as blocks", add, map[string]string{"A": "ss", "B": "ss", "C": "sd"}, both,
			"assemble(C,Insert),split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces,1)", 1, nil},
		{"counted, with a sum", "C(i,k) = A(i,j) * B(j,k)",
			map[string]string{"A": "ss", "B": "ss", "C": "ss"},
			map[string][]int64{"A": {41, 23}, "B": {23, 17}},
			"assemble(C,Insert),parallelize(i,CPUThread,NoRaces)", 1, nil},

		{"copies beside another term", "A(l,i,m) = (B(j) + 7) * C(l,m,k,i)",
			map[string]string{"B": "s", "C": "ssss"}, map[string][]int64{"B": {5}, "C": {3, 5, 2, 5}},
			"parallelize(i,CPUThread,NoRaces,4),parallelize(j,CPUThread,Temporary,2),parallelize(m,CPUThread,NoRaces,4)", 1, nil},

		{"a workspace of a diagonal", "y(j) = A(j,j,i)", map[string]string{"A": "dsd:2,1,0", "y": "s"},
			map[string][]int64{"A": {25, 25, 9}}, "assemble(y,Append)", 1, nil},

		{"a scalar of a scalar", "C(i,k,j) = sum(l, B(j,l)) * A(l,j,k,i) * 2",
			map[string]string{"A": "ssss", "B": "du", "C": "sdd"},
			map[string][]int64{"A": {2, 5, 4, 3}, "B": {5, 1}}, "precompute(t,{},{},W)", 1, nil},

		{"ranks, tiles", spmv, map[string]string{"A": "ds"}, matrix,
			"split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces)", 3, nil},
		{"ranks, positions", spmv, map[string]string{"A": "ds"}, matrix,
			"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16),parallelize(p0,CPUThread,Atomics)", 3, nil},
		{"blocks, positions", "a = A(i,j) * B(i,j)", map[string]string{"A": "ds", "B": "ss"}, both,
			"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,5)", 4, []string{"i:7,20,20,", "j:3"}},
		{"blocks, counted out of order", "a = A(i,j) * x(j)", map[string]string{"A": "ds"}, matrix,
			"split(i,i0,i1,4),reorder(i1,i0)", 2, []string{"i:5,17,"}},
		{"blocks, fused", "y(i) = A(i,j) * x(j)", map[string]string{"A": "dd"}, matrix,
			"fuse(i,j,f),split(f,f0,f1,7),reorder(f1,f0)", 2, []string{"i:5,17,", "j:2"}},
		{"blocks, two accesses", "C(i,k) = A(i,j) * A(k,j)", map[string]string{"A": "ds"}, matrix,
			"pos(j,p,A(i,j)),split(p,p0,p1,4)", 2, nil},
		{"ranks, counted", add, map[string]string{"A": "ds", "B": "ss", "C": "ds"}, both,
			"assemble(C,Insert),split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces)", 3, nil},
	} {
		j := &spmd.Job{Statement: c.stmt, Formats: c.formats, Sizes: c.sizes,
			Inputs: map[string]spmd.Input{}}
		j.Target, j.Check, j.Threads, j.Ranks = spmd.Interpreter, true, 3, c.ranks
		j.Schedule, j.Splits = []string{c.schedule}, c.splits
		for _, name := range []string{"A", "B", "C", "b", "c", "x"} {
			if !operandOf(c.stmt, name) {
				continue
			}
			j.Inputs[name] = spmd.Generated("dense:int")
			switch f := c.formats[name]; {
			case name == "b" && len(c.sizes["b"]) == 0:
				j.Inputs[name] = spmd.Scalar(3.0)
			case f == "s" || f == "du":
				j.Inputs[name] = spmd.Generated("uniform:3:int")
			case f == "ds" || f == "ss" || f == "dsd:2,1,0":
				j.Inputs[name] = spmd.Generated("uniform:150:int")
			case f == "ssss":
				j.Inputs[name] = spmd.Generated("uniform:70:int")
			}
		}
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// operandOf reports whether a statement's right side reads a tensor.
func operandOf(stmt, name string) bool {
	s, err := notation.Parse(stmt)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.Tensors()[1:],
		func(u notation.TensorUse) bool { return u.Name == name })
}
