package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// leaf makes the schedule of the leaf, in terms of the variables of the statement. If the loop over
// the chunks of a cut is peeled, the inner variable of the cut becomes the variable that was cut.
// If the positions of a tensor are distributed, its blocks have only the positions of their chunks,
// so loops over coordinates visit the right positions. The commands that take the positions are
// then left out, unless other commands of the leaf need them.
func (p *peeling) leaf(n *place.Nest) error {
	err := p.commands(n, func(s step) bool { return !p.stored.makes(s.Command) })
	if err != nil || p.stored == nil || !p.stored.named(n.Leaf) {
		return err
	}
	return p.commands(n, func(step) bool { return true })
}

// commands adds the leaf's commands for which wanted is true to the nest. A reorder that also names
// peeled loops is added if it changes the order of the leaf's loops that it names.
func (p *peeling) commands(n *place.Nest, wanted func(step) bool) error {
	n.Leaf, n.Written = nil, nil
	var order []*variable // the leaf's loops so far
	for _, name := range p.statement.Loops {
		order = append(order, p.vars[name])
	}
	for _, s := range p.read {
		if !wanted(s) || s.cut != nil && p.runsOver(s.cut.outer) {
			continue
		}
		if s.reordered != nil {
			named := p.unpeeled(s.reordered)
			before := placed(order, p.unpeeled(s.before))
			order = permuted(before, named)
			if len(named) < len(s.reordered) {
				if !slices.Equal(before, order) {
					n.Leaf, n.Written = append(n.Leaf, "reorder("+strings.Join(p.inLeaf(named), ",")+")"),
						append(n.Written, written(s.Command, nil))
				}
				continue
			}
		}
		args, err := p.arguments(s.Args, s.Words())
		if err != nil {
			return err
		}
		n.Leaf, n.Written = append(n.Leaf, s.Name+"("+args+")"),
			append(n.Written, written(s.Command, s.Args))
	}
	return nil
}

// written returns the place of a command and of the given arguments in the user's text.
func written(c *schedule.Command, args []schedule.Arg) place.Written {
	w := place.Written{Text: c.Within(), Args: schedule.Places(args)}
	w.Pos, w.End = c.Place()
	return w
}

// placed returns loops in the order that the loops they were made from have in order.
func placed(order, loops []*variable) []*variable {
	at := func(v *variable) int {
		for v != nil && !slices.Contains(order, v) {
			v = v.origin()
		}
		return slices.Index(order, v)
	}
	out := slices.Clone(loops)
	slices.SortStableFunc(out, func(v, w *variable) int { return at(v) - at(w) })
	return out
}

// isPeeled reports whether the loop over the values of v is peeled.
func (p *peeling) isPeeled(v *variable) bool { return v != nil && p.runsOver(v) }

func (p *peeling) unpeeled(list []*variable) []*variable {
	return slices.DeleteFunc(slices.Clone(list), p.isPeeled)
}

// inLeaf returns the names that variables have in the leaf.
func (p *peeling) inLeaf(list []*variable) []string {
	out := make([]string, len(list))
	for k, v := range list {
		for v.kind == innerOf && p.runsOver(v.from.outer) {
			v = v.from.of
		}
		out[k] = v.name
	}
	return out
}

// arguments returns the text of the arguments of a command of the leaf. words[k] is true if
// argument k is a word of the language.
func (p *peeling) arguments(list []schedule.Arg, words []bool) (string, error) {
	out := make([]string, len(list))
	for k, a := range list {
		text, err := "", error(nil)
		if a.List != nil {
			text, err = p.arguments(a.List, nil)
			text = "{" + text + "}"
		} else if k < len(words) && words[k] {
			text = a.Text
		} else {
			text, err = p.renamed(a, a.Text, p.leafWord)
		}
		if err != nil {
			return "", err
		}
		out[k] = text
	}
	return strings.Join(out, ","), nil
}

// leafWord returns the name that the leaf uses for a word in argument a.
func (p *peeling) leafWord(a schedule.Arg, word string) (string, error) {
	v := p.vars[word]
	switch {
	case v == nil:
		return word, nil
	case p.isPeeled(v) && (v.kind == outerOf || v.kind == rotated):
		return "",
			refuse(a,
				"%s is a loop over chunks, outside the leaf, but this command is for loops of "+
					"the leaf", word)
	}
	return p.inLeaf([]*variable{v})[0], nil
}

// renamed returns the text of argument a, with word(w) in place of each name w and with numbers in
// place of the machine's extents. If word is nil, names are unchanged.
func (p *peeling) renamed(a schedule.Arg, text string,
	word func(schedule.Arg, string) (string, error)) (string, error) {
	var b strings.Builder
	for at := 0; at < len(text); {
		from := at
		if !wordByte(text[at]) {
			at++
			b.WriteByte(text[from])
			continue
		}
		// A machine's extent, such as M.x, and a number with a point contain dots.
		for at < len(text) && (wordByte(text[at]) || text[at] == '.') {
			at++
		}
		w, err := text[from:at], error(nil)
		switch {
		case '0' <= w[0] && w[0] <= '9':
		case strings.Contains(w, "."):
			w, err = p.extent(a, w)
		case word != nil:
			w, err = word(a, w)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(w)
	}
	return b.String(), nil
}

func wordByte(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
