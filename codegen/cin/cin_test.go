package cin

import (
	"strings"
	"testing"
)

func TestTextBothWays(t *testing.T) {
	for _, src := range []string{
		"y(i) = B(i,j)",
		"a = t",
		"forall(i, where(y(i) = t, forall(j, t += B(i,j) * x(j))))",
		"forall(i, CPUThread, forall(j, A(i,j) = B(i,j) + A'(i,j)))",
		"forall(i, seq(forall(j, y(i) += B(i,j)), y(i) += c(i)))",
		"a = -(b + c) * 2.5e-3 / d - (e - (f - g))",
		"a = b / (c * d) - -e",
		"a = -b * c",
		"a = -(b * c)",
		"a = 1e-3 + 2 - .5",
		"a = -max(b(i) + 1, exp(c)) * 2",
		"max = max(b, -pow(c, 2))", // a result with the name of a function
		"forall(i, CPUThread, blocks, forall(j, y(i) += B(i,j)))",
		"forall(i, CPUThread, ordered 0 4096, gallop, forall(j, A(i,j) = B(i,j) * C(i,j)))",
		"seq(forall(i, CPUThread, reduction 64, a += b(i)), forall(i, CPUThread, partial 8, a += c(i)))",
		"forall(j, CPUThread, rows i, forall(i, y(i) += B(i,j)))",
		"forall(i, CPUThread, blocks(i) = rows(i))", // tensors with the names of notes
		"span(p, i j, B(i,j,k), chunks(p, 8, positions(p, coord(j, p, at(p, forall(k, A(i,j) += B(i,j,k) * x(j)))))))",
		"forall(i, at(i) = span(i) * seq(i))", // tensors with the names of nodes
		"forall(i, forall(j, where(i,j) += chunks(i,j)))",
	} {
		s, err := Parse(src)
		if err != nil {
			t.Errorf("Parse(%q): %v", src, err)
			continue
		}
		if got := String(s); got != src {
			t.Errorf("Parse(%q) prints %q", src, got)
		}
		again, err := Parse(Pretty(s))
		if err != nil || String(again) != src {
			t.Errorf("Pretty form of %q does not read back: %v\n%s", src, err, Pretty(s))
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", `byte 0: got the end, want a name`},
		{"forall(i y = b)", `byte 9: got "y", want ","`},
		{"a b", `got "b", want "="`},
		{"a = b)", `got ")", want the end`},
		{"a = (b", `got the end, want ")"`},
		{"a = 1.2.3", `got "1.2.3", want a number`},
		{"where(a = t)", `got ")", want ","`},
		{"span(p, i j, k, l)", `got ")", want "=" or "+="`},
		{"chunks(p, q, a = b)", `got "q", want a whole number`},
		{"forall(i, CPUThread, partial, a += b(i))", `got ",", want a whole number`},
		{"forall(i, CPUThread, rows 3, a += b(i))", `got "3", want a name`},
		{"positions(p)", `got ")", want ","`},
	} {
		if _, err := Parse(c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) = %v, want %q", c.src, err, c.want)
		}
	}
}

func TestVerify(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"forall(i, where(y(i) = t, forall(j, t += B(i,j) * x(j))))", ""},
		{"forall(i, where(forall(j, A(i,j) = w(j)), forall(k, forall(j, w(j) += B(i,k) * C(k,j)))))", ""},
		{"forall(i, y(i) = B(i,j))", "B(i,j) reads B outside the loop over j"},
		{"forall(i, forall(i, y(i) = b))", "forall over i inside another forall over it; want different variables"},
		{"where(a = t, t += t)", "temporary t must not be read in its producer"},
		{"where(t = b, t += c)", "temporary t must not be assigned in its consumer"},
		{"forall(i, where(y(i) = t(i), t += B(i)))", "temporary t has 0 modes, but is read with 1"},
		{"seq(a += b, c += d)", "the parts of a sequence must assign the same variable; got a and c"},
		{
			"forall(i, GPUBlock/NoRaces, forall(j, GPUWarp/NoRaces, forall(k, GPUThread/Atomics, y(i,j) += B(i,j,k))))", ""},
		{
			"forall(i, GPUBlock/NoRaces, seq(forall(j, GPUThread/NoRaces, y(i) += b(j)), forall(j, GPUThread/Atomics, y(i) += c(j))))", ""},
		{"forall(i, GPUBlock, y(i) = b(i))", "forall over i on GPUBlock must have a race strategy, and chunks only on GPUBlock"},
		{"forall(i, GPUBlock/NoRaces, forall(j, GPUThread/NoRaces/4, C(i,j) = b(i)))", "must have a race strategy, and chunks only on GPUBlock"},
		{"forall(i, GPUThread/NoRaces, y(i) = b(i))",
			"forall over i: GPUThread is a part of a block, so a loop around it must run on GPUBlock"},
		{"forall(i, GPUWarp/NoRaces, y(i) = b(i))", "forall over i: GPUWarp is a part of a block, so a loop around it must run on GPUBlock"},
		{"forall(i, GPUBlock/NoRaces, forall(j, GPUBlock/NoRaces, y(i,j) = B(i,j)))",
			"forall over j: the loop over i around it runs on GPUBlock already"},
		{
			"forall(i, GPUBlock/NoRaces, forall(j, GPUThread/NoRaces, forall(k, GPUThread/NoRaces, y(i,j,k) = B(i,j,k))))", "forall over k: the loop over j around it runs on GPUThread, and one thread cannot contain others"},
		{
			"forall(i, GPUBlock/NoRaces, forall(j, GPUWarp/NoRaces, forall(k, GPUWarp/NoRaces, y(i,j,k) = B(i,j,k))))", "forall over k: the loop over j around it runs on GPUWarp already"},
		{
			"forall(i, GPUBlock/NoRaces, forall(j, GPUWarp/NoRaces, forall(k, GPUBlock/NoRaces, y(i,j,k) = B(i,j,k))))", "forall over k: the loop over j around it runs on GPUWarp, but loops on blocks must be outermost"},
		{
			"forall(i, GPUBlock/NoRaces, seq(forall(j, GPUWarp/Atomics, y(i) += b(j)), forall(k, GPUThread/Atomics, y(i) += c(k))))", "forall over k: the loop over j divides a block's threads into warps"},
		{"forall(i, GPUBlock/NoRaces, forall(j, CPUVector/NoRaces, y(i,j) = B(i,j)))",
			"forall over j: CPUVector and GPUBlock, of the loop over i, are units of different kinds of processors"},
		{"forall(i, blocks, y(i) = b(i))", "forall over i: only an outermost loop on CPUThread can be cut"},
		{"forall(j, forall(i, CPUThread, blocks, A(i,j) = B(i,j)))",
			"forall over i: only an outermost loop on CPUThread can be cut"},
		{"forall(i, CPUThread, rows k, forall(j, y(j) += B(i,j)))",
			"forall over i: k is not a variable of y(j)"},
		{"forall(i, CPUThread, partial 0, forall(j, y(j) += B(i,j)))",
			"forall over i: got partial 0, want at least 1"},
		{"span(p, i j, B(i,j), chunks(p, 8, positions(p, coord(j, p, at(p, A(i,j) = B(i,j) * x(j))))))", ""},
		{"where(span(p, i j, B(i,j), positions(p, at(p, A(i,j) = B(i,j) * t))), forall(i, t += c(i)))", ""},
		{"forall(k, span(p, i j, B(i,j), positions(p, at(p, A(i,j) += B(i,j) * c(k)))))",
			"the span of p is inside a loop"},
		{"span(p, i k, B(i,j), positions(p, at(p, A(i,k) = B(i,j))))",
			"the span of p: want different variables of B(i,j) as levels, got i k"},
		{"positions(p, A(i,j) = B(i,j))", "positions(p) is outside the span of p"},
		{"span(p, i j, B(i,j), positions(q, at(q, A(i,j) = B(i,j))))",
			"positions(q) is outside the span of q"},
		{"span(p, i j, B(i,j), at(p, A(i,j) = B(i,j)))", "at(p) is at the wrong place in the span of p"},
		{"span(p, i j, B(i,j), positions(p, chunks(p, 8, at(p, A(i,j) = B(i,j)))))",
			"chunks(p, 8) is at the wrong place in the span of p"},
		{"span(p, i j, B(i,j), forall(k, positions(p, at(p, A(i,j) += B(i,j) * c(k)))))",
			"positions(p) is at the wrong place in the span of p"},
		{"span(p, i j, B(i,j), positions(p, forall(k, at(p, A(i,j) += B(i,j) * c(k)))))",
			"at(p) is at the wrong place in the span of p"},
		{"span(p, i j, B(i,j), positions(p, coord(j, p, forall(k, at(p, A(i,j) += B(i,j) * c(k))))))",
			"at(p) is at the wrong place in the span of p"},
		{"span(p, i j, B(i,j), positions(p, coord(i, p, at(p, A(i,j) = B(i,j)))))",
			"coord(i, p): want j, the variable of the last level"},
		{"span(p, i j, B(i,j), positions(p, at(p, A(i,k) = B(i,j))))", "at(p): A(i,k) has no variable j"},
		{"span(p, i j, B(i,j), positions(p, coord(j, p, A(i,j) = B(i,j))))",
			"A(i,j) reads A outside the loop over i"},
		{"span(p, i j, B(i,j), positions(p, at(p, A(i,j) = B(i,j) * x(j))))",
			"x(j) reads x outside the loop over j"},
		{"span(p, i j, B(i,j), positions(p, at(p, where(A(i,j) = t(j), t(j) = B(i,j)))))",
			"t(j) reads t outside the loop over j"},
	} {
		s, err := Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		err = Verify(s)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Verify(%q) = %v, want %q", c.src, err, c.want)
		}
	}
}
