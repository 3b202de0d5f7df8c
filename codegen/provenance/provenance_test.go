package provenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// relation reads a relation from its text form, in which pos names an access after the variables.
func relation(t *testing.T, text string) Relation {
	t.Helper()
	name, rest, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	args := strings.Split(rest, ", ")
	r := Relation{Kind: Kind(slices.Index(kindNames[:], name))}
	number := func(s string) {
		if _, err := fmt.Sscan(s, &r.N); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	switch r.Kind {
	case Split, Divide:
		r.From, r.To = args[:1], args[1:3]
		number(args[3])
	case Fuse:
		r.From, r.To = args[:2], args[2:]
	case Pos:
		r.From, r.To, r.Access = args[:1], args[1:2], strings.Join(args[2:], ", ")
	case Bound:
		r.From, r.To = args[:1], args[1:2]
		number(args[2])
		r.Bound, _ = BoundByName(args[3])
	default:
		r.From, r.To = args[:1], args[1:]
	}
	if r.String() != text {
		t.Fatalf("%s prints %s", text, r)
	}
	return r
}

// graph reads relations that are separated by semicolons.
func graph(t *testing.T, text string) *Graph {
	t.Helper()
	var g *Graph
	for _, s := range strings.Split(text, "; ") {
		if s == "" {
			continue
		}
		next, err := g.With(relation(t, s))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		g = next
	}
	return g
}

const (
	stripMined = "split(i, i0, i1, 32)"
	byEntries  = "fuse(i, j, f); pos(f, p, A(i,j)); split(p, p0, p1, 16)"
	tiledTwice = "split(i, i0, i1, 32); split(i1, i2, i3, 4); bound(i3, ib, 4, MaxExact)"
	backAgain  = "pos(j, p, A(i,j)); split(p, p0, p1, 8); coord(p1, c); divide(c, c0, c1, 2)"
	threeDeep  = "fuse(k, l, kl); fuse(i, kl, f); pos(f, p, B(i,k,l)); split(p, p0, p1, 4)"
	ofParts    = "split(i, i0, i1, 32); fuse(i1, j, f)"
)

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		graph, v                string
		underived, fullyDerived string
		positions               string
	}{
		{"", "i", "i", "i", ""},
		{stripMined, "i", "i", "i0 i1", ""},
		{stripMined, "i0", "i", "i0", ""},
		{stripMined, "i1", "i", "i1", ""},
		{stripMined, "j", "j", "j", ""},
		{byEntries, "i", "i", "p0 p1", ""},
		{byEntries, "j", "j", "p0 p1", ""},
		{byEntries, "f", "i j", "p0 p1", ""},
		{byEntries, "p", "i j", "p0 p1", "A(i,j)"},
		{byEntries, "p0", "i j", "p0", ""}, // numbers of tiles
		{byEntries, "p1", "i j", "p1", "A(i,j)"},
		{tiledTwice, "i", "i", "i0 i2 ib", ""},
		{tiledTwice, "i3", "i", "ib", ""},
		{tiledTwice, "ib", "i", "ib", ""},
		{backAgain, "j", "j", "p0 c0 c1", ""},
		{backAgain, "p1", "j", "c0 c1", "A(i,j)"},
		{backAgain, "c", "j", "c0 c1", ""}, // coordinates again
		{backAgain, "c1", "j", "c1", ""},
		{threeDeep, "p1", "i k l", "p1", "B(i,k,l)"},
		{threeDeep, "kl", "k l", "p0 p1", ""},
		{ofParts, "f", "i j", "f", ""},
		{ofParts, "i", "i", "i0 f", ""},
		{"pos(j, p, A(i,j)); bound(p, pb, 9, MaxConstraint)", "pb", "j", "pb", "A(i,j)"},
		{"pos(j, p, A(i,j)); split(p, p0, p1, 8); split(p0, p2, p3, 2)", "p3", "j", "p3", ""},
	} {
		g := graph(t, c.graph)
		if got := strings.Join(g.Underived(c.v), " "); got != c.underived {
			t.Errorf("%s: %s comes from %s, want %s", c.graph, c.v, got, c.underived)
		}
		if got := strings.Join(g.FullyDerived(c.v), " "); got != c.fullyDerived {
			t.Errorf("%s: from %s come %s, want %s", c.graph, c.v, got, c.fullyDerived)
		}
		if got := g.PositionsOf(c.v); got != c.positions {
			t.Errorf("%s: %s runs over positions of %q, want %q", c.graph, c.v, got, c.positions)
		}
		if got, want := g.Derived(c.v), c.underived != c.v || c.fullyDerived != c.v; got != want {
			t.Errorf("%s: %s derived: %v", c.graph, c.v, got)
		}
	}
}

func TestMadeAndReplaced(t *testing.T) {
	g := graph(t, byEntries)
	for v, want := range map[string][2]string{
		"i": {"", "fuse(i, j, f)"}, "j": {"", "fuse(i, j, f)"},
		"f": {"fuse(i, j, f)", "pos(f, p, A(i,j))"},
		"p": {"pos(f, p, A(i,j))", "split(p, p0, p1, 16)"}, "p0": {"split(p, p0, p1, 16)", ""},
		"k": {"", ""},
	} {
		text := func(r *Relation) string {
			if r == nil {
				return ""
			}
			return r.String()
		}
		if got := text(g.MadeBy(v)); got != want[0] {
			t.Errorf("%s was made by %q, want %q", v, got, want[0])
		}
		if got := text(g.ReplacedBy(v)); got != want[1] {
			t.Errorf("%s was replaced by %q, want %q", v, got, want[1])
		}
	}
}

func TestComponent(t *testing.T) {
	for _, c := range []struct{ graph, v, roots, leaves, top string }{
		{stripMined, "i1", "i", "i0 i1", "i"},
		{byEntries, "j", "i j", "p0 p1", "f"},
		{byEntries, "p0", "i j", "p0 p1", "f"},
		{tiledTwice, "ib", "i", "i0 i2 ib", "i"},
		{threeDeep, "l", "i k l", "p0 p1", "f"},
		{ofParts, "i0", "i j", "i0 f", "i"}, // what is left of i in a tile, with all of j
		{ofParts, "j", "i j", "i0 f", "i"},
		{"fuse(j, k, g); split(i, i0, i1, 8); fuse(i1, g, f); split(f, f0, f1, 4)", "k", "i j k",
			"i0 f0 f1", "i"},
		{"fuse(i, j, f); split(f, f0, f1, 8); fuse(f1, k, g)", "f0", "i j k", "f0 g", "f"},
		{"pos(i, p, A(i,j)); split(p, p0, p1, 8); coord(p1, c); fuse(c, j, f)", "j", "i j", "p0 f", "i"},
		{"split(i, i0, i1, 8); fuse(i0, j, f)", "i1", "i j", "f i1", ""}, // tile numbers, with j
		{"split(j, j0, j1, 8); fuse(i, j0, f)", "i", "j i", "f j1", ""},
		{"split(j, j0, j1, 8); fuse(i, j1, f)", "i", "j i", "j0 f", ""},
		{"split(i, i0, i1, 2); split(j, j0, j1, 3)", "j0", "j", "j0 j1", "j"}, // of its own
		{"split(i, i0, i1, 2); precompute(i, iw)", "i0", "i", "i0 i1", "i"},
	} {
		got := graph(t, c.graph).Component(c.v)
		if got == nil || strings.Join(got.Roots, " ") != c.roots ||
			strings.Join(got.Leaves, " ") != c.leaves || got.Top != c.top {
			t.Errorf("%s: the component of %s is %+v, want roots %s, leaves %s, top %q", c.graph, c.v, got,
				c.roots, c.leaves, c.top)
		}
	}
	if c := graph(t, stripMined).Component("j"); c != nil {
		t.Errorf("j has a component, %+v, though no relation touches it", c)
	}
}

func TestOriginal(t *testing.T) {
	g := graph(t, "precompute(j, jw); precompute(jw, jv); split(jw, j0, j1, 4)")
	for v, want := range map[string]string{"j": "j", "jw": "j", "jv": "j", "k": "k"} {
		if got := g.Original(v); got != want {
			t.Errorf("%s runs over the range of %s, want %s", v, got, want)
		}
	}
	if g.ReplacedBy("j") != nil || g.MadeBy("jv") != nil {
		t.Error("precompute replaces nothing")
	}
	if got := g.FullyDerived("jw"); !slices.Equal(got, []string{"j0", "j1"}) {
		t.Errorf("from jw come %v", got)
	}
}

// TestTileOf checks that a variable of the producer is another name for the consumer's variable
// until one of them is replaced.
func TestTileOf(t *testing.T) {
	const tile = "pos(j, p, A(i,j)); split(p, p0, p1, 8); precompute(p1, pw)"
	for _, c := range []struct {
		graph, consumer, tileOf string
		loops, filled           []string
	}{
		{tile, "p1", "", []string{"pw"}, nil},
		{tile + "; split(pw, a, b, 2)", "pw", "p1", []string{"b", "a"}, []string{"p1"}},
		{tile + "; split(pw, a, b, 2)", "pw", "p1", []string{"a"}, nil},
		{tile + "; split(p1, a, b, 2)", "pw", "p1", []string{"i", "pw"}, []string{"p1"}},
		{tile + "; split(p1, a, b, 2)", "pw", "p1", []string{"a", "b"}, nil},
		{"precompute(j, jw); split(jw, a, b, 2)", "jw", "", []string{"a", "b"}, nil},
	} {
		g := graph(t, c.graph)
		w := g.Relations()[slices.IndexFunc(g.Relations(),
			func(r Relation) bool { return r.Kind == Precompute })].To[0]
		if got := g.ConsumerVar(w); got != c.consumer {
			t.Errorf("%s: %s stands for %s, want %s", c.graph, w, got, c.consumer)
		}
		if got := g.TileOf(w); got != c.tileOf {
			t.Errorf("%s: %s runs over a tile of %q, want %q", c.graph, w, got, c.tileOf)
		}
		if got := g.Filled(c.loops); !slices.Equal(got, c.filled) {
			t.Errorf("%s: loops over %v visit %v, want %v", c.graph, c.loops, got, c.filled)
		}
	}
}

func TestWithRefuses(t *testing.T) {
	for _, c := range []struct{ graph, add, want string }{
		{stripMined, "split(i, a, b, 4)", "i no longer exists: it was replaced by split(i, i0, i1, 32)"},
		{stripMined, "fuse(j, i, f)", "i no longer exists: it was replaced by split(i, i0, i1, 32)"},
		{stripMined, "split(j, i0, b, 4)", "the name i0 is in use; want a new one"},
		{stripMined, "split(j, a, i, 4)", "the name i is in use; want a new one"},
		{"", "split(i, a, a, 4)", "the name a is in use; want a new one"},
		{"", "split(i, i, a, 4)", "the name i is in use; want a new one"},
		{"precompute(j, jw)", "bound(i, jw, 4, MaxExact)", "the name jw is in use; want a new one"},
		{stripMined, "precompute(j, i1)", "the name i1 is in use; want a new one"},
		{stripMined, "precompute(i, iw)", ""}, // replaces nothing
	} {
		g := graph(t, c.graph)
		n := len(g.Relations())
		_, err := g.With(relation(t, c.add))
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%s with %s: got %v, want %q", c.graph, c.add, err, c.want)
		}
		if len(g.Relations()) != n {
			t.Errorf("%s with %s: the graph itself has changed", c.graph, c.add)
		}
	}
}

// TestWithBranches makes two graphs from one and checks that they do not affect each other.
func TestWithBranches(t *testing.T) {
	g := graph(t, stripMined+"; split(j, j0, j1, 2)")
	a, err := g.With(relation(t, "split(i1, a0, a1, 2)"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.With(relation(t, "split(i1, b0, b1, 2)"))
	if err != nil {
		t.Fatal(err)
	}
	if x, y := a.FullyDerived("i"),
		b.FullyDerived("i"); !slices.Equal(x, []string{"i0", "a0", "a1"}) ||
		!slices.Equal(y, []string{"i0", "b0", "b1"}) {
		t.Errorf("got %v and %v", x, y)
	}
}

func TestPicture(t *testing.T) {
	got := graph(t, byEntries+"; split(k, k0, k1, 8); bound(k0, kb, 4, MaxExact)").Picture(
		[]string{"i", "j", "k"})
	const want = `digraph provenance {
  "i" [shape=ellipse];
  "j" [shape=ellipse];
  "k" [shape=ellipse];
  r0 [shape=box, label="fuse"];
  "i" -> r0;
  "j" -> r0;
  "f" [shape=ellipse];
  r0 -> "f";
  r1 [shape=box, label="pos A(i,j)"];
  "f" -> r1;
  "p" [shape=ellipse, color=blue, fontcolor=blue];
  r1 -> "p";
  r2 [shape=box, label="split 16"];
  "p" -> r2;
  "p0" [shape=ellipse];
  r2 -> "p0";
  "p1" [shape=ellipse, color=blue, fontcolor=blue];
  r2 -> "p1";
  r3 [shape=box, label="split 8"];
  "k" -> r3;
  "k0" [shape=ellipse];
  r3 -> "k0";
  "k1" [shape=ellipse];
  r3 -> "k1";
  r4 [shape=box, label="bound MaxExact 4"];
  "k0" -> r4;
  "kb" [shape=ellipse];
  r4 -> "kb";
}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var none *Graph
	if got := none.Picture([]string{"i"}); got !=
		"digraph provenance {\n  \"i\" [shape=ellipse];\n}\n" {
		t.Errorf("without relations: %s", got)
	}
}

func TestBoundByName(t *testing.T) {
	for k := MinExact; k <= MaxConstraint; k++ {
		if got, ok := BoundByName(k.String()); !ok || got != k {
			t.Errorf("%s reads as %v, %v", k, got, ok)
		}
	}
	if _, ok := BoundByName("Exact"); ok {
		t.Error("Exact is no kind of bound")
	}
}
