package distribute_test

import (
	"errors"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/schedule"
)

// TestRefusals checks the message of each refusal, and the part of the schedule that it points at.
func TestRefusals(t *testing.T) {
	const leaf = " must come after all commands that distribute, because it is for loops of the leaf and names "
	const fused = "fuse(i,j,f), pos(f,p,B), "
	for _, c := range []struct{ commands, want, at string }{
		// Commands that are not valid.
		{"distribute(i), substitute(i)",
			"got 1 argument, want substitute({i, j, k}, gemm) or substitute({i, ...}, \"file.c:name\")",
			"substitute(i)"},
		{"distribute(i), substitute({i,j,k},\"file.c\")",
			"substitute: got \"file.c\", want gemm, cublas, cusparse, or a C function as in \"file.c:name\"",
			"\"file.c\""},
		{"distribute(i,io,ii,M), substitute({io,j,k},gemm)",
			"substitute: distribute(i,io,ii,M) puts the loop over io outside the leaf, but this command is for loops of the leaf", "io"},
		{"distribute(i), spread(i)", "got spread, want a scheduling command: assemble", "spread(i)"},
		{"distribute(i), communicate(A)", "got 1 argument, want communicate(T, i)", "communicate(A)"},
		{"distribute(i, M)",
			"distribute: got 2 arguments, want distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
			"distribute(i, M)"},
		{"distribute({i,j},{io},{ii,ji},M)",
			"distribute: got 2 variables, 1 outer and 2 inner ones; want the same number of each",
			"distribute({i,j},{io},{ii,ji},M)"},
		{"distribute({},{},{},M)", "distribute: got 0 variables, 0 outer and 0 inner ones",
			"distribute({},{},{},M)"},
		// Variables.
		{"distribute(z)", "distribute: got z, want a variable that the statement loops over: i, j, k",
			"z"},
		{"distribute(i,io,ii,M), distribute(i)", "distribute: i no longer exists: it was replaced by distribute(i,io,ii,M)",
			"i"},
		{"distribute({z},{zo},{zi},M)",
			"distribute: got z, want a variable that the statement loops over", "z"},
		{"split(z,a,b,2), distribute(i)", "split: got z, want a variable that the statement loops over",
			"z"},
		{"divide(i,io,ii,2), divide(i,a,b,2), distribute(io)",
			"divide: i no longer exists: it was replaced by divide(i,io,ii,2)", "i"},
		{"divide(i,io,io,2), distribute(io)", "divide: the name io is in use; want a new one", "io"},
		{"divide(i,j,ii,2), distribute(i)", "divide: the name j is in use; want a new one", "j"},
		{"divide(i,A,ii,2), distribute(i)", "divide: the name A is in use; want a new one", "A"},
		{"divide(i,2,ii,2), distribute(i)", "divide: got 2, want a name for a new variable", "2"},
		{"fuse(i,j,k), distribute(i)", "fuse: the name k is in use; want a new one", "k"},
		{"reorder(i,z), distribute(i)", "reorder: got z, want a variable that the statement loops over",
			"z"},
		{"reorder(i,i), distribute(i)", "reorder: got i twice; want each variable once", "i"},
		// Numbers and machines.
		{"divide(i,io,ii,x), distribute(io)",
			"divide: got x, want either a whole number or the extent of a machine", "x"},
		{"split(i,io,ii,0), distribute(io)", "split: got 0, want 1 to 2^40", "0"},
		{"divide(i,io,ii,N.x), distribute(io)", "got N.x, want an extent of the machine, M", "N.x"},
		{"divide(i,io,ii,M.z), distribute(io)", "got M.z, but the machine 2x2 has no dimension z", "M.z"},
		{"distribute(i,io,ii,M), unroll(ii,M.2)", "got M.2, but the machine 2x2 has no dimension 2",
			"M.2"},
		{"distribute(i,io,ii,Grid(3,2))", "distribute: got Grid(3,2), but the machine M is 2x2; " +
			"want -m=3x2, or a machine like this in a job file", "Grid(3,2)"},
		{"distribute(i,io,ii,Grid(3,y))", "distribute: got \"y\", want an extent of 1 or more",
			"Grid(3,y)"},
		{"distribute(i,io,ii,N)", "distribute: got N, want the name of the machine: M", "N"},
		{"distribute(i,io,ii,M.nodes)", "distribute: got M.nodes, want the name of the machine: M", "M.nodes"},
		{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)",
			"distribute: got 3 variables for the 2 dimensions of M; want one variable for each dimension", "{i,j,k}"},
		{"distribute({i,j,k})",
			"distribute: each dimension of the machine 2x2 already has a loop, so that k has none; want fewer loops", "k"},
		{"distribute({i,j}), distribute(i)", "distribute: each dimension of the machine 2x2 already has a loop, so that", "i"},
		{"distribute(i), distribute(i)", "distribute: the loop over i is already distributed", "i"},
		{"distribute(i), distribute(j,jo,ji,M)",
			"distribute: the loop over i is already distributed over dimension 0 of the machine 2x2; want one loop for each dimension", "j"},
		{"distribute(i), split(i,a,b,2)",
			"split: distribute(i) already puts the loop over i outside the leaf; commands that divide a variable must come before it",
			"split(i,a,b,2)"},
		// communicate and rotate.
		{"distribute(i), communicate(D,i)", "communicate: got D, want a tensor of the statement: A, B, C",
			"D"},
		{"distribute(i), communicate({A,A},i)",
			"communicate: got A twice; want each tensor only once, in one loop", "A"},
		{"distribute({i,j}), communicate(A,i), communicate(A,j)", "communicate: got A twice; want each tensor only once, in one loop", "A"},
		{"distribute(i), communicate(A,z)",
			"communicate: got z, want a variable that the statement loops over", "z"},
		{"distribute(i), rotate(j,{i},r)", "rotate: got j, want a loop over chunks made by divide or split",
			"j"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{jo},r)", "rotate: jo cannot be rotated by itself; want other variables",
			"jo"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i,i},r)", "rotate: got i twice; want each variable once", "i"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{},r)", "rotate: got no variables to rotate jo by; want at least one",
			"{}"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},k)", "rotate: the name k is in use; want a new one", "k"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), rotate(r,{i},s)",
			"rotate: got r, want a loop over chunks made by divide or split", "r"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), communicate(B,jo)",
			"communicate: jo no longer exists: it was replaced by rotate(jo,{i},r)", "jo"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{k},r)",
			"rotate: jo is rotated by k, so the loop over k must be outside the loop over jo", "rotate(jo,{k},r)"},
		{"divide(i,io,ii,2), divide(j,jo,ji,2), reorder(io,jo,ii,ji), rotate(io,{jo},r), distribute(jo)",
			"rotate: io is rotated by jo, so the loop over jo must be outside the loop over io", "rotate(io,{jo},r)"},
		// Loops that cannot be peeled.
		{"divide(j,jo,ji,2), distribute(jo)",
			"distribute: the loop over jo must be outside the loop over i, which belongs to the leaf; use reorder", "distribute(jo)"},
		{"divide(i,io,ii,2), divide(j,jo,ji,2), distribute({io,jo})",
			"distribute: the loop over jo must be outside the loop over ii, which belongs to the leaf; use reorder",
			"distribute({io,jo})"},
		{"distribute(i,io,ii,M), divide(k,ko,ki,2), communicate(B,ko)",
			"communicate: the loop over ko must be outside the loop over ii, which belongs to the leaf; use reorder",
			"communicate(B,ko)"},
		{"divide(i,io,ii,2), divide(ii,a,b,2), reorder(a,io), distribute(a)",
			"distribute: the loop over a must be outside the loop over chunks of io; use reorder", "distribute(a)"},
		{"divide(i,io,ii,4), divide(io,a,b,2), distribute(a)",
			"distribute: a divides io, which counts chunks; want to divide the variable inside the chunks",
			"distribute(a)"},
		{"divide(i,io,ii,4), rotate(io,{j},r), divide(r,a,b,2), distribute(a)",
			"divide: rotate(io,{j},r) already puts the loop over r outside the leaf", "divide(r,a,b,2)"},
		{"fuse(i,j,f), divide(f,fo,fi,4), distribute(fo)",
			"distribute: the loop over fo runs over f, which fuse(i,j,f) made; want chunks of either an index variable or the positions of a tensor", "distribute(fo)"},
		{"fuse(i,j,f), distribute(f)",
			"distribute: the loop over f runs over f, which fuse(i,j,f) made; want chunks of either an index variable or the positions of a tensor", "distribute(f)"},
		// Positions.
		{fused + "distribute(p)",
			"distribute: the loop over p runs over single positions; want chunks of positions, as divide makes them", "distribute(p)"},
		{fused + "split(p,po,pi,4), distribute(po)",
			"split: the number of positions of B(i,j) is not known before it is read; want divide",
			"split(p,po,pi,4)"},
		{fused + "divide(p,po,pi,16777217), distribute(po)",
			"divide: the positions of B(i,j) would have loops over more than 16777216 chunks; want fewer chunks", "divide(p,po,pi,16777217)"},
		{
			fused +
				"pos(k,q,C(j,k)), divide(p,po,pi,2), divide(q,qo,qi,2), reorder(po,qo,pi,qi), distribute({po,qo})",
			"distribute: the loop over qo runs over positions of pos(k,q,C(j,k)), but another loop runs over positions of pos(f,p,B); want positions of only one tensor", "distribute({po,qo})"},
		{"fuse(i,j,f), pos(f,p,B(i,k)), distribute(p,po,pi,M)",
			"pos: got B(i,k), want either a tensor of the right side or one of its accesses: B(i,j), C(j,k), D(i,j), E(i,j), F(i,j), F(j,i), G(i,i), P(i,j), U(i,j,k), S(j,k)", "B(i,k)"},
		{"fuse(i,j,f), pos(f,p,A), distribute(p,po,pi,M)", "pos: got A, want either a tensor of the right side or one of its accesses",
			"A"},
		{"fuse(i,j,f), pos(f,p,F), distribute(p,po,pi,M)",
			"pos: F is accessed with different variables; name one access, as in B(i,j)", "F"},
		{"fuse(i,j,f), pos(f,p,F(i, j)), distribute(p,po,pi,M)",
			"pos: F(i,j) is also read as F(j,i); want a tensor that is read only once",
			"F(i, j)"},
		{"pos(i,p,G), distribute(p,po,pi,M)", "pos: got G(i,i), which has i twice; want a tensor with each variable once", "G"},
		{"fuse(i,j,f), pos(f,p,E), distribute(p,po,pi,M)",
			"pos: the ranks would visit only the stored entries of E(i,j), but the term C(j,k) of the statement also has values elsewhere", "E"},
		{"fuse(i,j,f), pos(f,p,C), distribute(p,po,pi,M)",
			"pos: the distributed positions of C(j,k) must belong to its outermost levels, j, k, or to the first of them; got positions of i, j", "C"},
		{"fuse(j,k,f), pos(f,p,B), distribute(p,po,pi,M)",
			"pos: the distributed positions of B(i,j) must belong to its outermost levels, i, j, or to the first of them; got positions of j, k", "B"},
		{"fuse(i,j,f), pos(f,p,D), distribute(p,po,pi,M)",
			"pos: the distributed positions of D(i,j) must belong to its outermost levels, j, i, or to the first of them; got positions of i, j", "D"},
		{"pos(i,p,B), distribute(p,po,pi,M)",
			"pos: level 0 of B is dense and has no positions; divide its coordinates instead",
			"B"},
		{"fuse(i,j,f), pos(f,p,P), distribute(p,po,pi,M)",
			"pos: level 1 of P is padded, so its positions are not in order; want another level", "P"},
		{"pos(i,p,U), distribute(p,po,pi,M)",
			"pos: level 0 of U stores repeated coordinates, which the levels below distinguish; want positions of a level below", "U"},
		{"split(i,io,ii,4), fuse(ii,j,f), pos(f,p,B), divide(p,po,pi,2), distribute({io,po})",
			"split: chunks of i are divided again by positions of B(i,j); want divide",
			"split(i,io,ii,4)"},
		{
			"divide(k,ko,ki,2), reorder(ko,j,ki), fuse(j,ki,f), pos(f,p,S), divide(p,po,pi,2), reorder(ko,po,i,pi), distribute({ko,po})", "pos: the loop over chunks of k is outside, but the positions of S(j,k) include all of k in all of j; want no chunks of it", "S"},
		{"precompute(B(i,k)*C(k,j),j,jw,w), distribute(jw)",
			"distribute: got jw, want a variable that the statement loops over", "jw"},
		{"divide(j,jo,ji,2), distribute(i), pos(ji,p,B), divide(p,po,pi,2), distribute(po)",
			"pos: the positions of B(i,j) include all of i, but the loops run over only a part of it", "B"},
		{"fuse(i,j,f), distribute(k)",
			"distribute: the loop over k must be outside the loop over f, which belongs to the leaf; use reorder", "distribute(k)"},
		// Commands of the leaf that name loops of other parts.
		{"parallelize(i,CPUThread,NoRaces), distribute(i)",
			"distribute: parallelize(i,CPUThread,NoRaces)" + leaf + "i",
			"i"},
		{"distribute(i), divide(j,jo,ji,2), unroll(jo,2), communicate(B,jo)",
			"communicate: unroll(jo,2)" + leaf + "jo", "jo"},
		{"distribute(i), divide(j,jo,ji,2), unroll(jo,2), rotate(jo,{i},r)",
			"rotate: unroll(jo,2)" + leaf + "jo", "jo"},
		{"unroll(i,2), distribute(i,io,ii,M)", "distribute: unroll(i,2)" + leaf + "i", "i"},
		{"unroll(i,2), divide(i,io,ii,2), distribute(io)",
			"distribute: unroll(i,2)" + leaf + "i, which divide(i,io,ii,2) divides",
			"distribute(io)"},
		{"distribute(i), unroll(i,2)",
			"unroll: distribute(i) puts the loop over i outside the leaf, but this command is for loops of the leaf", "i"},
		{"distribute(i), fuse(i,j,f)",
			"fuse: distribute(i) puts the loop over i outside the leaf, but this command is for loops of the leaf", "i"},
		{"distribute(i,io,ii,M), divide(j,jo,ji,2), reorder(jo,ii), unroll(jo,2), communicate(B,ii)",
			"communicate: the loop over ii must be outside the loop over jo, which belongs to the leaf; use reorder",
			"communicate(B,ii)"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), unroll(jo,2)",
			"jo is a loop over chunks, outside the leaf, but this command is for loops of the leaf", "jo"},
		// Too many chunks, or too many runs of the leaf.
		{"divide(i,io,ii,16777217), distribute(io)",
			"divide: one variable would have loops over more than 16777216 chunks; want fewer chunks",
			"divide(i,io,ii,16777217)"},
		{"distribute(i,io,ii,M), divide(ii,a,b,8388609), communicate(B,a)",
			"divide: one variable would have loops over more than 16777216 chunks; want fewer chunks",
			"divide(ii,a,b,8388609)"},
		{
			"divide(i,io,ii,8192), divide(j,jo,ji,8192), reorder(io,jo,ii,ji), communicate(B,jo), distribute(io)", "distribute: the loops io, jo have more than 16777216 iterations on one rank, and each runs the leaf; want fewer chunks", "distribute(io)"},
	} {
		_, err := problem{"2x2", square, matrix,
			"B(i,j):ds C(j,k):ss D(i,j):ds:1,0 E(i,j):ds+C(j,k) F(i,j):ds F(j,i):ds G(i,i):ss P(i,j):dp U(i,j,k):uqq S(j,k):ss"}.peel(t, c.commands)
		var e *diag.Error
		if !errors.As(err, &e) || len(e.Msg) < len(c.want) || e.Msg[:len(c.want)] != c.want {
			t.Errorf("%s: got %v, want %s", c.commands, err, c.want)
			continue
		}
		if got := e.Src[e.Pos:e.End]; got != c.at ||
			e.Code != schedule.Refused && e.Code != schedule.BadCommand {
			t.Errorf("%s: %s is said of %q, want %q", c.commands, e.Code, got, c.at)
		}
	}
}

// TestRefusesManyCoordinates checks that a variable with too many coordinates to be cut into single
// ones is refused before it is cut.
func TestRefusesManyCoordinates(t *testing.T) {
	const want = "distribute: one variable would have loops over more than 16777216 chunks; want fewer chunks"
	_, err := problem{"2", "i:1000000000000", "", ""}.peel(t, "distribute(i)")
	var e *diag.Error
	if !errors.As(err, &e) || e.Msg != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
