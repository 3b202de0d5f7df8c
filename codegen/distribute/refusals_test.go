package distribute_test

import (
	"errors"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/schedule"
)

// TestRefusals checks the message of each refusal, and the part of the schedule that it points at.
func TestRefusals(t *testing.T) {
	const leaf = ", a command of the leaf, names "
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
			"substitute: distribute(i,io,ii,M) asks for the loop over io to run outside the leaf, and this is a command of the leaf", "io"},
		{"distribute(i), spread(i)", "got spread, want a scheduling command: assemble", "spread(i)"},
		{"distribute(i), communicate(A)", "got 1 argument, want communicate(T, i)", "communicate(A)"},
		{"distribute(i, M)",
			"distribute: got 2 arguments, want distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
			"distribute(i, M)"},
		{"distribute({i,j},{io},{ii,ji},M)",
			"distribute: got 2 variables, 1 outer and 2 inner ones, want the same number of each",
			"distribute({i,j},{io},{ii,ji},M)"},
		{"distribute({},{},{},M)", "distribute: got 0 variables, 0 outer and 0 inner ones",
			"distribute({},{},{},M)"},
		// Variables.
		{"distribute(z)", "distribute: got z, want a variable that the statement loops over: i, j, k",
			"z"},
		{"distribute(i,io,ii,M), distribute(i)", "distribute: i was replaced, by distribute(i,io,ii,M)",
			"i"},
		{"distribute({z},{zo},{zi},M)",
			"distribute: got z, want a variable that the statement loops over", "z"},
		{"split(z,a,b,2), distribute(i)", "split: got z, want a variable that the statement loops over",
			"z"},
		{"divide(i,io,ii,2), divide(i,a,b,2), distribute(io)",
			"divide: i was replaced, by divide(i,io,ii,2)", "i"},
		{"divide(i,io,io,2), distribute(io)", "divide: the name io is in use", "io"},
		{"divide(i,j,ii,2), distribute(i)", "divide: the name j is in use", "j"},
		{"divide(i,A,ii,2), distribute(i)", "divide: the name A is in use", "A"},
		{"divide(i,2,ii,2), distribute(i)", "divide: got 2, want a name for a new variable", "2"},
		{"fuse(i,j,k), distribute(i)", "fuse: the name k is in use", "k"},
		{"reorder(i,z), distribute(i)", "reorder: got z, want a variable that the statement loops over",
			"z"},
		{"reorder(i,i), distribute(i)", "reorder: i stands twice", "i"},
		// Numbers and machines.
		{"divide(i,io,ii,x), distribute(io)",
			"divide: got x, want a whole number, or the extent of a machine", "x"},
		{"split(i,io,ii,0), distribute(io)", "split: got 0, want at least 1 and at most 2^40", "0"},
		{"divide(i,io,ii,N.x), distribute(io)", "got N.x, want an extent of the machine, M", "N.x"},
		{"divide(i,io,ii,M.z), distribute(io)", "got M.z, and the machine 2x2 has no dimension z", "M.z"},
		{"distribute(i,io,ii,M), unroll(ii,M.2)", "got M.2, and the machine 2x2 has no dimension 2",
			"M.2"},
		{"distribute(i,io,ii,Grid(3,2))", "distribute: got Grid(3,2), and the machine M is 2x2; " +
			"-m=3x2, or a machine of a job file, makes it that", "Grid(3,2)"},
		{"distribute(i,io,ii,Grid(3,y))", "distribute: got \"y\", want an extent of 1 or more",
			"Grid(3,y)"},
		{"distribute(i,io,ii,N)", "distribute: got N, want the machine: M", "N"},
		{"distribute(i,io,ii,M.nodes)", "distribute: got M.nodes, want the machine: M", "M.nodes"},
		{"distribute({i,j,k},{io,jo,ko},{ii,ji,ki},M)",
			"distribute: got 3 variables for the 2 dimensions of M", "{i,j,k}"},
		{"distribute({i,j,k})",
			"distribute: the machine 2x2 has a loop over each of its dimensions already, and none is left for k", "k"},
		{"distribute({i,j}), distribute(i)", "distribute: the machine 2x2 has a loop over each", "i"},
		{"distribute(i), distribute(i)", "distribute: the loop over i is distributed already", "i"},
		{"distribute(i), distribute(j,jo,ji,M)",
			"distribute: the loop over i is distributed over dimension 0 of the machine 2x2 already", "j"},
		{"distribute(i), split(i,a,b,2)",
			"split: distribute(i) already asks for the loop over i; what cuts a variable comes first",
			"split(i,a,b,2)"},
		// communicate and rotate.
		{"distribute(i), communicate(D,i)", "communicate: got D, want a tensor of the statement: A, B, C",
			"D"},
		{"distribute(i), communicate({A,A},i)",
			"communicate: A is named twice; its pieces are brought by one loop", "A"},
		{"distribute({i,j}), communicate(A,i), communicate(A,j)", "communicate: A is named twice", "A"},
		{"distribute(i), communicate(A,z)",
			"communicate: got z, want a variable that the statement loops over", "z"},
		{"distribute(i), rotate(j,{i},r)", "rotate: j is not a loop over chunks that divide or split made",
			"j"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{jo},r)", "rotate: jo cannot be rotated by itself",
			"jo"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i,i},r)", "rotate: i stands twice", "i"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{},r)", "rotate: got no variables to rotate jo by",
			"{}"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},k)", "rotate: the name k is in use", "k"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), rotate(r,{i},s)",
			"rotate: r is not a loop over chunks that divide or split made", "r"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), communicate(B,jo)",
			"communicate: jo was replaced, by rotate(jo,{i},r)", "jo"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{k},r)",
			"rotate: jo is rotated by k, whose loop is not outside that over r", "rotate(jo,{k},r)"},
		{"divide(i,io,ii,2), divide(j,jo,ji,2), reorder(io,jo,ii,ji), rotate(io,{jo},r), distribute(jo)",
			"rotate: io is rotated by jo, whose loop is not outside that over r", "rotate(io,{jo},r)"},
		// Loops that cannot be peeled.
		{"divide(j,jo,ji,2), distribute(jo)",
			"distribute: the loop over jo is inside the loop over i, which belongs to the leaf; reorder can move it outside", "distribute(jo)"},
		{"divide(i,io,ii,2), divide(j,jo,ji,2), distribute({io,jo})",
			"distribute: the loop over jo is inside the loop over ii, which belongs to the leaf",
			"distribute({io,jo})"},
		{"distribute(i,io,ii,M), divide(k,ko,ki,2), communicate(B,ko)",
			"communicate: the loop over ko is inside the loop over ii, which belongs to the leaf",
			"communicate(B,ko)"},
		{"divide(i,io,ii,2), divide(ii,a,b,2), reorder(a,io), distribute(a)",
			"distribute: the loop over a goes through chunks of io, whose loop is the leaf's; reorder puts it outside", "distribute(a)"},
		{"divide(i,io,ii,4), divide(io,a,b,2), distribute(a)",
			"distribute: a cuts io, the number of a chunk; want a cut of the variable inside the chunks",
			"distribute(a)"},
		{"divide(i,io,ii,4), rotate(io,{j},r), divide(r,a,b,2), distribute(a)",
			"divide: rotate(io,{j},r) already asks for the loop over r", "divide(r,a,b,2)"},
		{"fuse(i,j,f), divide(f,fo,fi,4), distribute(fo)",
			"distribute: the loop over fo goes through f, which fuse(i,j,f) made; want ranges of an index variable, or of the positions of a tensor that pos takes", "distribute(fo)"},
		{"fuse(i,j,f), distribute(f)",
			"distribute: the loop over f goes through f, which fuse(i,j,f) made", "distribute(f)"},
		// Positions.
		{fused + "distribute(p)",
			"distribute: the loop over p goes through single positions; want chunks of positions, as divide makes", "distribute(p)"},
		{fused + "split(p,po,pi,4), distribute(po)",
			"split: how many positions B(i,j) has is not known before it is read; want divide",
			"split(p,po,pi,4)"},
		{fused + "divide(p,po,pi,16777217), distribute(po)",
			"divide: the loops over chunks would have more than 16777216 of the positions of B(i,j), want fewer", "divide(p,po,pi,16777217)"},
		{
			fused +
				"pos(k,q,C(j,k)), divide(p,po,pi,2), divide(q,qo,qi,2), reorder(po,qo,pi,qi), distribute({po,qo})",
			"distribute: the loop over qo goes through positions that pos(k,q,C(j,k)) takes, and another loop through those that pos(f,p,B) takes; only the positions of one tensor can be distributed", "distribute({po,qo})"},
		{"fuse(i,j,f), pos(f,p,B(i,k)), distribute(p,po,pi,M)",
			"pos: got B(i,k), want a tensor of the right side, or one of its accesses: B(i,j), C(j,k), D(i,j), E(i,j), F(i,j), F(j,i), G(i,i), P(i,j), U(i,j,k), S(j,k)", "B(i,k)"},
		{"fuse(i,j,f), pos(f,p,A), distribute(p,po,pi,M)", "pos: got A, want a tensor of the right side",
			"A"},
		{"fuse(i,j,f), pos(f,p,F), distribute(p,po,pi,M)",
			"pos: F appears at different variables; name the access", "F"},
		{"fuse(i,j,f), pos(f,p,F(i, j)), distribute(p,po,pi,M)",
			"pos: F(i,j) is also read as F(j,i); only positions of a tensor with one access can be distributed",
			"F(i, j)"},
		{"pos(i,p,G), distribute(p,po,pi,M)", "pos: G(i,i) holds i twice", "G"},
		{"fuse(i,j,f), pos(f,p,E), distribute(p,po,pi,M)",
			"pos: the ranks visit only positions of E(i,j), and the statement's term C(j,k) also has values elsewhere", "E"},
		{"fuse(i,j,f), pos(f,p,C), distribute(p,po,pi,M)",
			"pos: the distributed positions of C(j,k) must be of its outermost levels, j, k, or of some of them; got positions of i, j", "C"},
		{"fuse(j,k,f), pos(f,p,B), distribute(p,po,pi,M)",
			"pos: the distributed positions of B(i,j) must be of its outermost levels, i, j, or of some of them; got positions of j, k", "B"},
		{"fuse(i,j,f), pos(f,p,D), distribute(p,po,pi,M)",
			"pos: the distributed positions of D(i,j) must be of its outermost levels, j, i, or of some of them; got positions of i, j", "D"},
		{"pos(i,p,B), distribute(p,po,pi,M)",
			"pos: level 0 of B is dense, and has no positions of its own; its coordinates can be divided",
			"B"},
		{"fuse(i,j,f), pos(f,p,P), distribute(p,po,pi,M)",
			"pos: level 1 of P is padded: its positions are not in order", "P"},
		{"pos(i,p,U), distribute(p,po,pi,M)",
			"pos: level 0 of U keeps repeated coordinates, which the levels below distinguish; take positions of a level below", "U"},
		{"split(i,io,ii,4), fuse(ii,j,f), pos(f,p,B), divide(p,po,pi,2), distribute({io,po})",
			"split: the chunks of i are cut further, by positions of B(i,j); want divide",
			"split(i,io,ii,4)"},
		{
			"divide(k,ko,ki,2), reorder(ko,j,ki), fuse(j,ki,f), pos(f,p,S), divide(p,po,pi,2), reorder(ko,po,i,pi), distribute({ko,po})", "pos: chunks of k run outside, and the positions of S(j,k) go through k in all of j", "S"},
		{"precompute(B(i,k)*C(k,j),j,jw,w), distribute(jw)",
			"distribute: got jw, want a variable that the statement loops over", "jw"},
		{"divide(j,jo,ji,2), distribute(i), pos(ji,p,B), divide(p,po,pi,2), distribute(po)",
			"pos: the positions of B(i,j) go through all of i, and the loops go through parts of it", "B"},
		{"fuse(i,j,f), distribute(k)",
			"distribute: the loop over k is inside the loop over f, which belongs to the leaf", "distribute(k)"},
		// Commands of the leaf that name loops of other parts.
		{"parallelize(i,CPUThread,NoRaces), distribute(i)",
			"distribute: parallelize(i,CPUThread,NoRaces)" + leaf + "i before; such commands come last",
			"i"},
		{"distribute(i), divide(j,jo,ji,2), unroll(jo,2), communicate(B,jo)",
			"communicate: unroll(jo,2)" + leaf + "jo before", "jo"},
		{"distribute(i), divide(j,jo,ji,2), unroll(jo,2), rotate(jo,{i},r)",
			"rotate: unroll(jo,2)" + leaf + "jo before", "jo"},
		{"unroll(i,2), distribute(i,io,ii,M)", "distribute: unroll(i,2)" + leaf + "i before", "i"},
		{"unroll(i,2), divide(i,io,ii,2), distribute(io)",
			"distribute: unroll(i,2)" + leaf + "i, which divide(i,io,ii,2) cuts; such commands come last",
			"distribute(io)"},
		{"distribute(i), unroll(i,2)",
			"unroll: distribute(i) asks for the loop over i to run outside the leaf, and this is a command of the leaf", "i"},
		{"distribute(i), fuse(i,j,f)",
			"fuse: distribute(i) asks for the loop over i to run outside the leaf", "i"},
		{"distribute(i,io,ii,M), divide(j,jo,ji,2), reorder(jo,ii), unroll(jo,2), communicate(B,ii)",
			"communicate: the loop over ii is inside the loop over jo, which belongs to the leaf",
			"communicate(B,ii)"},
		{"distribute(i), divide(j,jo,ji,2), rotate(jo,{i},r), unroll(jo,2)",
			"jo is the loop over chunks outside the leaf, and this is a command of the leaf", "jo"},
		// Too many chunks, or too many runs of the leaf.
		{"divide(i,io,ii,16777217), distribute(io)",
			"divide: the loops over chunks would have more than 16777216 of one variable, want fewer",
			"divide(i,io,ii,16777217)"},
		{"distribute(i,io,ii,M), divide(ii,a,b,8388609), communicate(B,a)",
			"divide: the loops over chunks would have more than 16777216 of one variable",
			"divide(ii,a,b,8388609)"},
		{
			"divide(i,io,ii,8192), divide(j,jo,ji,8192), reorder(io,jo,ii,ji), communicate(B,jo), distribute(io)", "distribute: the loops io, jo have more than 16777216 iterations at a point of the machine", "distribute(io)"},
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
	const want = "distribute: the loops over chunks would have more than 16777216 of one variable, want fewer"
	_, err := problem{"2", "i:1000000000000", "", ""}.peel(t, "distribute(i)")
	var e *diag.Error
	if !errors.As(err, &e) || e.Msg != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
