package codegen_test

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
)

// TestNetworkRefusals: a tree that is none, that is not of the statement's factors, or that has no
// say is refused, with the reason and its place.
func TestNetworkRefusals(t *testing.T) {
	const product = "R(i,l)=A(i,j)*B(j,k)*C(k,l)\nA:ds\nB:ds\nC:ds\n"
	for _, x := range []struct {
		request, tree string
		code          diag.Code
		at            int
		want          string
	}{
		{product, "(A*B", diag.NetworkSyntax, 4, "got the end, want a * or a )"},
		{product, "A*B)*C", diag.NetworkSyntax, 3, "got ), want a * or the end"},
		{product, "A**B*C", diag.NetworkSyntax, 2, "got *, want the name of a tensor or a ("},
		{product, "A*()*B*C", diag.NetworkSyntax, 3, "got ), want the name of a tensor or a ("},
		{product, "A*B*C+D", diag.NetworkSyntax, 5, "got +, want a * or the end"},
		{product, "A", diag.NetworkSyntax, 0,
			"want auto, direct, pairwise, or a tree of two factors or more"},
		{product, "((A*B)*C)*D", diag.NetworkRefused, 10, "got D, which is no factor"},
		{product, "(A*B)*R", diag.NetworkRefused, 6, "got R, which is no factor"},
		{product, "(A*B)*i", diag.NetworkRefused, 6, "got i, which is no factor"},
		{product, "(A*B)*B", diag.NetworkRefused, 6, "got B, which is no factor, or is one fewer times"},
		{product, "A*B", diag.NetworkRefused, 0, "the tree lacks the factor C"},
		{"R(i,l)=A(i,j)*A(j,k)*C(k,l)\nA:ds\nC:ds\n", "A*C", diag.NetworkRefused, 0,
			"the tree lacks the factor A"},
		{"R(i,l)=A(i,j)*A(j,k)*C(k,l)\nA:ds\nC:ds\n", "(A*A)*A*C", diag.NetworkRefused, 6,
			"got A, which is no factor, or is one fewer times"},
		{"R(i,j)=A(i,j)\nA:ds\n", "A*A", diag.NetworkRefused, 0,
			"the statement has no product of two to 8 tensors"},
		{"R(i)=A(i,j)/B(j)\nA:ds\n", "A*B", diag.NetworkRefused, 0,
			"the statement has no product of two to 8 tensors"},
		{"R(i,l)=A(i,j)*B(j,k)*C(k,l)+D(i,l)\nA:ds\nB:ds\nC:ds\n--intermediate-order=1\n", "A*(B*C)",
			diag.NetworkRefused, 0,
			"do not allow, or for an intermediate of more variables than --intermediate-order=1"},
		{product + "-s=parallelize(i,CPUThread,NoRaces)\n", "(A*B)*C", diag.NetworkRefused, 0,
			"a schedule says itself what the loops are"},
		{product + "-s=parallelize(i,CPUThread,NoRaces)\n", "pairwise", diag.NetworkRefused, 0,
			"a schedule says itself what the loops are"},
		{product + "--target=cuda\n", "(A*B)*C", diag.NetworkRefused, 0,
			"a GPU runs the loops of a product in one nest"},
		{product + "--target=cuda\n", "pairwise", diag.NetworkRefused, 0,
			"a GPU runs the loops of a product in one nest"},
	} {
		r := goldenRequest(t, x.request)
		r.Network = x.tree
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

// TestNetworkTrees: what a tree asks for is done, whichever of several uses of a tensor it means,
// and with a schedule that leaves the loops alone.
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
		r.Network = x.tree
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%q: %v", x.tree, err)
		} else if text := u.Network(); !strings.Contains(text, x.want) {
			t.Errorf("%q: got\n%s\nwant %s in it", x.tree, text, x.want)
		}
	}
}
