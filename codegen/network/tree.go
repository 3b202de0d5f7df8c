package network

import (
	"slices"
	"strings"

	"distaff/codegen/diag"
)

// Tree says which factors and intermediates are multiplied together. A node multiplies its children
// in one nest of loops. A leaf, which has no children, is a factor.
type Tree struct {
	Name     string // a leaf's
	At       int    // where it begins in the text
	Children []*Tree
	factor   int // a leaf's number
	factors  set // of a product that is searched, the numbers of all leaves
}

// ParseTree reads a tree: names with * between them, and parentheses around each intermediate.
// Without parentheses, the factors form one nest: A*B*C is a nest of three factors. The text
// (A*B)*C first makes an intermediate from A and B.
func ParseTree(text string) (*Tree, error) {
	p := &treeParser{text: text}
	t, err := p.product()
	if err == nil && p.peek() != 0 {
		err = p.fail("\"*\" or the end of the tree")
	}
	if err == nil && len(t.Children) == 0 {
		ways := []string{Auto.String(), Direct.String(), Pairwise.String()}
		err = diag.At(diag.NetworkSyntax, text, 0, len(text),
			"--network: got %s, want %s, or a tree of at least two factors, as in (A*B)*C%s",
			text, strings.Join(ways, ", "), diag.DidYouMean(text, ways))
	}
	return t, err
}

type treeParser struct {
	text string
	at   int
}

func (p *treeParser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *treeParser) fail(want string) error {
	got := "the end"
	if p.peek() != 0 {
		got = p.text[p.at : p.at+1]
	}
	return &diag.Error{Code: diag.NetworkSyntax, Msg: "--network: got " + got + ", want " + want,
		Src: p.text, Pos: p.at, End: min(p.at+1, len(p.text))}
}

// product reads a product. It stops at the first character that does not continue the product, or
// at the end of the text.
func (p *treeParser) product() (*Tree, error) {
	t := &Tree{At: p.at}
	for {
		f, err := p.factor()
		if err != nil {
			return nil, err
		}
		if t.Children = append(t.Children, f); p.peek() != '*' {
			break
		}
		p.at++
	}
	if len(t.Children) == 1 {
		return t.Children[0], nil
	}
	return t, nil
}

func (p *treeParser) factor() (*Tree, error) {
	if p.peek() == '(' {
		p.at++
		t, err := p.product()
		if err == nil && p.peek() != ')' {
			err = p.fail("\"*\" or \")\"")
		}
		p.at++
		return t, err
	}
	from := p.at
	for p.at < len(p.text) && nameByte(p.text[p.at], p.at > from) {
		p.at++
	}
	if p.at == from {
		return nil, p.fail("the name of a tensor or \"(\"")
	}
	return &Tree{Name: p.text[from:p.at], At: from}, nil
}

func nameByte(c byte, later bool) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return letter || later && (c == '_' || c >= '0' && c <= '9')
}

// Bind gives each leaf the number of a factor with the leaf's name. If several leaves have the same
// name, the first leaf gets the first factor with that name. extra is a leaf for which there is no
// factor, or nil if every leaf has a factor. If extra is nil, missing lists the names of factors
// that no leaf has. A tree must be bound again before it is used for another product.
func (t *Tree) Bind(factors []Factor) (extra *Tree, missing []string) {
	left := map[string][]int{}
	for k, f := range factors {
		left[f.Text] = append(left[f.Text], k)
	}
	extra = t.bind(left)
	for _, f := range factors {
		if len(left[f.Text]) > 0 {
			missing = append(missing, f.Text)
			left[f.Text] = left[f.Text][1:]
		}
	}
	return extra, missing
}

func (t *Tree) bind(left map[string][]int) (extra *Tree) {
	t.factors = 0
	if len(t.Children) == 0 {
		list := left[t.Name]
		if len(list) == 0 {
			return t
		}
		t.factor, t.factors, left[t.Name] = list[0], 1<<list[0], list[1:]
		return nil
	}
	for _, c := range t.Children {
		if x := c.bind(left); x != nil {
			return x
		}
		t.factors |= c.factors
	}
	return nil
}

// over returns the node that multiplies exactly these factors, or nil if there is none.
func (t *Tree) over(factors set) *Tree {
	if t.factors == factors && len(t.Children) > 0 {
		return t
	}
	for _, c := range t.Children {
		if x := c.over(factors); x != nil {
			return x
		}
	}
	return nil
}

// matches reports whether the items are exactly the children of t. A leaf matches a factor, and a
// node with children matches an intermediate.
func (t *Tree) matches(items []item) bool {
	if len(items) != len(t.Children) {
		return false
	}
	for _, it := range items {
		if !slices.ContainsFunc(t.Children,
			func(c *Tree) bool { return c.factors == it.factors && it.made == (len(c.Children) > 0) }) {
			return false
		}
	}
	return true
}

// treeOf returns the text of a contraction's tree.
func (p *Problem) treeOf(c *Contraction) string {
	var parts []string
	for _, x := range c.Items {
		text := p.treeOf(x)
		if len(x.Factors)+len(x.Items) > 1 {
			text = "(" + text + ")"
		} else {
			text = "sum(" + text + ")"
		}
		parts = append(parts, text)
	}
	for _, f := range c.Factors {
		parts = append(parts, p.text(f))
	}
	return strings.Join(parts, " * ")
}

// text returns the text of factor f in a plan.
func (p *Problem) text(f int) string {
	if t := p.Factors[f].Text; t != "" {
		return t
	}
	return "(...)"
}
