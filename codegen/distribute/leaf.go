package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// leaf makes the schedule of the leaf. The schedule names only variables of the statement and
// variables that commands of the leaf make.
//
// If the loop over the chunks of a variable is peeled, the leaf sees only one chunk. The variable
// within the chunk then gets the name of the whole variable.
//
// If the stored positions of a tensor are distributed, each block of the tensor contains only the
// positions of one chunk. Loops over coordinates then visit exactly these positions. The commands
// that make loops over positions are therefore left out, unless other commands of the leaf need
// them.
func (p *peeling) leaf(n *place.Nest) error {
	err := p.commands(n, func(s step) bool { return !p.stored.makes(s.Command) })
	if err != nil || p.stored == nil || !p.stored.isNamed(n.Leaf) {
		return err
	}
	return p.commands(n, func(step) bool { return true })
}

// commands sets the nest's commands to the commands of the leaf for which wanted returns true. A
// reorder may name both peeled loops and loops of the leaf. The leaf then gets a reorder of its own
// loops, but only if this changes their order.
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
			before := sortByOrigin(order, p.unpeeled(s.before))
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

// sortByOrigin returns loops in the order of their origins. Commands derived each
// loop from a variable in the list origins, which is the origin of the loop.
func sortByOrigin(origins, loops []*variable) []*variable {
	at := func(v *variable) int {
		for v != nil && !slices.Contains(origins, v) {
			v = v.origin()
		}
		return slices.Index(origins, v)
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

// arguments returns the text of list, the arguments of a command of the leaf. isWord[k] is true if
// argument k is a keyword of the scheduling language. Variables in other arguments get the names
// that they have in the leaf.
func (p *peeling) arguments(list []schedule.Arg, isWord []bool) (string, error) {
	out := make([]string, len(list))
	for k, a := range list {
		text, err := "", error(nil)
		if a.List != nil {
			text, err = p.arguments(a.List, nil)
			text = "{" + text + "}"
		} else if k < len(isWord) && isWord[k] {
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

// renamed replaces words in text, which is the text of argument a or a part of it. It replaces each
// name w by word(a, w), and an extent of the machine, such as M.x, by its number. If word is nil,
// names are unchanged.
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
