package codegen_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
)

// TestNetworkRefusals: a text that is not a tree, a tree of other factors than the statement's, and
// a tree that a schedule makes meaningless are refused, with the reason and its position.
func TestNetworkRefusals(t *testing.T) {
	const product = "R(i,l)=A(i,j)*B(j,k)*C(k,l)\nA:ds\nB:ds\nC:ds\n"
	for _, x := range []struct {
		request, tree string
		code          diag.Code
		at            int
		want          string
	}{
		{product, "(A*B", diag.NetworkSyntax, 4, "got the end, want \"*\" or \")\""},
		{product, "A*B)*C", diag.NetworkSyntax, 3, "got ), want \"*\" or the end of the tree"},
		{product, "A**B*C", diag.NetworkSyntax, 2, "got *, want the name of a tensor or \"(\""},
		{product, "A*()*B*C", diag.NetworkSyntax, 3, "got ), want the name of a tensor or \"(\""},
		{product, "A*B*C+D", diag.NetworkSyntax, 5, "got +, want \"*\" or the end of the tree"},
		{product, "A", diag.NetworkSyntax, 0,
			"want auto, direct, pairwise, or a tree of at least two factors, as in (A*B)*C"},
		{product, "((A*B)*C)*D", diag.NetworkRefused, 10, "got D, which is not a factor of the product, or not as often"},
		{product, "(A*B)*R", diag.NetworkRefused, 6, "got R, which is not a factor of the product, or not as often"},
		{product, "(A*B)*i", diag.NetworkRefused, 6, "got i, which is not a factor of the product, or not as often"},
		{product, "(A*B)*B", diag.NetworkRefused, 6, "got B, which is not a factor of the product, or not as often"},
		{product, "A*B", diag.NetworkRefused, 0, "the tree must also have the factor C"},
		{"R(i,l)=A(i,j)*A(j,k)*C(k,l)\nA:ds\nC:ds\n", "A*C", diag.NetworkRefused, 0,
			"the tree must also have the factor A"},
		{"R(i,l)=A(i,j)*A(j,k)*C(k,l)\nA:ds\nC:ds\n", "(A*A)*A*C", diag.NetworkRefused, 6,
			"got A, which is not a factor of the product, or not as often"},
		{"R(i,j)=A(i,j)\nA:ds\n", "A*A", diag.NetworkRefused, 0,
			"the statement has no product of two or more tensors that can be contracted"},
		{"R(i)=A(i,j)/B(j)\nA:ds\n", "A*B", diag.NetworkRefused, 0,
			"the statement has no product of two or more tensors that can be contracted"},
		{"R(i,l)=A(i,j)*B(j,k)*C(k,l)+D(i,l)\nA:ds\nB:ds\nC:ds\n--intermediate-order=1\n", "A*(B*C)",
			diag.NetworkRefused, 0,
			"do not allow the loops of this tree, or it has an intermediate of more variables than --intermediate-order=1"},
		{product + "-s=parallelize(i,CPUThread,NoRaces)\n", "(A*B)*C", diag.NetworkRefused, 0,
			"the loops are given by a schedule"},
		{product + "-s=parallelize(i,CPUThread,NoRaces)\n", "pairwise", diag.NetworkRefused, 0,
			"the loops are given by a schedule"},
	} {
		r := goldenRequest(t, x.request)
		r.Ask.Network = x.tree
		_, err := codegen.Compile(r)
		var d *diag.Error
		switch {
		case !errors.As(err, &d):
			t.Errorf("%q: got %v, want %s", x.tree, err, x.want)
		case d.Code != x.code || d.Pos != x.at || !strings.Contains(d.Msg, x.want) || d.Src != x.tree:
			t.Errorf("%q: got %s at %d of %q: %s; want %s at %d: %s", x.tree, d.Code, d.Pos, d.Src, d.Msg,
				x.code, x.at, x.want)
		}
	}
}

// TestNetworkTrees: a tree is carried out, whichever of several uses of a tensor it refers to, and
// also with a schedule that does not change the loops.
func TestNetworkTrees(t *testing.T) {
	const twice = "R(i,l)=A(i,j)*A(j,k)*C(k,l)\nA:ds\nC:ds\n"
	for _, x := range []struct{ request, tree, want string }{
		{twice, "(A*A)*C", "tree   (A * A) * C\n"},
		{twice, " ( A * C ) * A ", "tree   (A * C) * A\n"},
		{twice, "(((A)*A))*C", "tree   (A * A) * C\n"},
		{twice, "A*A*C", "tree   A * A * C\n"},
		{twice + "-s=temporaries(R)\n", "(A*A)*C", "tree   (A * A) * C\n"},
		{"R(i,l)=A(i,j)*B(j,k)*C(k,l)\nA:ds\nB:ds:1,0\nC:ds\n", "(A*B)*C", "converts B\n"},
	} {
		r := goldenRequest(t, x.request)
		r.Ask.Network = x.tree
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%q: %v", x.tree, err)
		} else if text := u.Network(); !strings.Contains(text, x.want) {
			t.Errorf("%q: got\n%s\nwant %s in it", x.tree, text, x.want)
		}
	}
}

// TestDearNests: a nest of loops that costs far more than contracting two tensors at a time is made
// only if the user asks for it. If contractions are forbidden, the refusal gives both costs and an
// alternative.
func TestDearNests(t *testing.T) {
	chain := func(n int) string {
		vars, names := "ijklmnopqrst", "ABCDEFGHK"
		var factors []string
		for k := range n {
			factors = append(factors, fmt.Sprintf("%c(%c,%c)", names[k], vars[k], vars[k+1]))
		}
		return fmt.Sprintf("Y(i,%c)=%s", vars[n], strings.Join(factors, "*"))
	}
	const costs = " costs 1e+18 multiply-adds in one nest of loops, but 4e+09 if two tensors are " +
		"multiplied at a time"
	for _, c := range []struct {
		request, network, want string // the refusal, or "" and the plan of the product
		tree                   string
	}{
		{chain(5), "", "", "direct"},
		{chain(9), "", "", "tree   ((A * B) * (C * D)) * ((E * F) * ((G * H) * K))\n"},
		{chain(9), "((A*B)*(C*D)*E)*((F*G)*(H*K))", "",
			"tree   ((A * B) * (C * D) * E) * ((F * G) * (H * K))\n"},
		{chain(5) + "+Z(i,n)", "", "", "direct"},
		{chain(9) + "+Z(i,r)", "", "", "tree   ((A * B) * (C * D)) * ((E * F) * ((G * H) * K))\n"},
		{chain(5) + "+A(i,j)*B(j,n)", "A*B", "", "\n  Y(i,n) += w"}, // the tree is for one term
		{chain(5), "direct", "", "tree   A * B * C * D * E\n"},
		{chain(9), "direct", "", "tree   A * B * C * D * E * F * G * H * K\n"},
		{chain(9), "A*B*C*D*E*F*G*H*K", "", "tree   A * B * C * D * E * F * G * H * K\n"},
		{chain(5) + "\n--intermediate-order=1", "", "", "direct"}, // inside of shared loops
		{chain(9) + "\n--intermediate-order=1", "auto",
			"; want --intermediate-order=2, or --network=direct for one nest", ""},
		{chain(5) + "\n--intermediate-order=1", "direct", "", "tree   A * B * C * D * E\n"},
		{chain(5) + "\n-s=parallelize(i,CPUThread,NoRaces)", "", costs, ""},
		{chain(5) + "\n-s=parallelize(i,CPUThread,NoRaces)", "auto", "; want a precompute in the " +
			"schedule, or a separate statement for each intermediate, or --network=direct", ""},
		{chain(5) + "\n-s=parallelize(i,CPUThread,NoRaces)", "direct", "", "tree   A * B * C * D * E\n"},
		{chain(5) + "\n-s=precompute(D(l,m)*E(m,n),{l,n},{l,n},W)", "", "", "tree   A * B * C * D * E\n"},
		{chain(5) + "\n-s=temporaries(Y)", "", "", "direct"},
		{chain(5) + "\n--target=cuda", "", "", "direct"},
		{chain(9) + "\n--target=cuda", "", "", "tree   ((A * B) * (C * D)) * ((E * F) * ((G * H) * K))\n"},
		{chain(4) + "\n--target=cuda", "(A*B)*(C*D)", "", "tree   (A * B) * (C * D)\n"},
		{chain(5) + "\n--target=cuda\n-s=parallelize(i,GPUBlock,NoRaces)", "",
			"; want a separate statement for each intermediate, or --target=cpu", ""},
		{chain(5) + "\n--target=cuda", "direct", "", "tree   A * B * C * D * E\n"},
		{chain(3) + "\n--target=cuda", "", "", "tree   (A * B) * C\n"},
	} {
		r := goldenRequest(t, c.request)
		r.Ask.Network = c.network
		u, err := codegen.Compile(r)
		var d *diag.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, --network=%s: %v", c.request, c.network, err)
		case c.want == "" && !strings.Contains(u.Network(), c.tree):
			t.Errorf("%s, --network=%s: got\n%s\nwant %s in it", c.request, c.network, u.Network(), c.tree)
		case c.tree == "direct" && strings.Contains(u.Network(), "tree   A * B * C * D * E\n"):
			t.Errorf("%s: computed in one nest of loops:\n%s", c.request, u.Network())
		case c.want != "" && (!errors.As(err, &d) || d.Code != diag.NetworkRefused ||
			!strings.Contains(d.Msg, c.want) || d.Src[d.Pos:d.End] != c.network):
			t.Errorf("%s, --network=%s: got %v, want %s", c.request, c.network, err, c.want)
		}
	}
}

// TestOtherNest: if the cheapest nest of loops needs another order than the nest that would run,
// the best contractions are chosen instead.
func TestOtherNest(t *testing.T) {
	r := goldenRequest(t, "A(k,l,j,i)=B(k,i,j)*C(i,l)*D(l,i)\nA:dsss:0,2,1,3\nB:dsd:1,2,0\nC:ss\n"+
		"D:ds\nk=13\nl=2\nj=2\ni=31")
	for name, n := range map[string]int64{"B": 418, "C": 10, "D": 26} {
		x := r.Tensors.All[name]
		x.NNZ, x.Counts = n, nil
		r.Tensors.All[name] = x
	}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if text := u.Network(); strings.Contains(text, "tree   B * C * D\n") {
		t.Errorf("computed in one nest of loops:\n%s", text)
	}
}

// TestLargeTrees: a product that is too large for the search is contracted by a tree. The tree is
// refused if an intermediate has too many variables, if the tree lacks factors, or if it has a
// factor twice.
func TestLargeTrees(t *testing.T) {
	var factors []string
	for k := range 20 {
		factors = append(factors, fmt.Sprintf("A%d(i%d,i%d)", k, k, k+1))
	}
	request := "Y(i0,i20)=" + strings.Join(factors, "*") + "\n"
	names := func(from, to int) string {
		var list []string
		for k := from; k < to; k++ {
			list = append(list, fmt.Sprintf("A%d", k))
		}
		return strings.Join(list, "*")
	}
	const loops = "--network: storage orders, or the other terms, do not allow the loops of this tree"
	for _, c := range []struct{ request, tree, want string }{
		{request, "(" + names(0, 10) + ")*(" + names(10, 20) + ")", ""},
		{request, names(0, 3) + "*(" + names(3, 18) + ")*" + names(18, 20), ""},
		{request, "(" + names(0, 17) + ")*" + names(17, 20),
			loops + ", or it has an intermediate of more than 16 tensors or variables"},
		{request + "--intermediate-order=1\n", "(" + names(0, 10) + ")*" + names(10, 20), loops +
			", or it has an intermediate of more variables than --intermediate-order=1"},
		{request, "(" + names(0, 10) + ")*" + names(10, 19), "--network: the tree must also have the factor A19"},
		{request, "(" + names(0, 10) + ")*" + names(9, 20), "--network: got A9, which is not a factor of the product, or not as often"},
	} {
		r := goldenRequest(t, c.request)
		r.Ask.Network = c.tree
		_, err := codegen.Compile(r)
		switch {
		case (err != nil) != (c.want != ""), err != nil && !strings.HasPrefix(err.Error(), c.want):
			t.Errorf("%s: got %v, want %q", c.tree, err, c.want)
		}
	}
}
