package clike

import (
	"slices"
	"strings"

	"distaff/codegen/ir"
)

// Helper is a piece of a prelude. Where types are given, there is a copy for each, named
// after the type.
type Helper struct {
	Name  string
	Types []ir.Type
	// Uses are earlier pieces that this one needs: "name:type", of a typed piece "name" for the
	// one of its own type and "name:$P" for that of a component of it.
	Uses []string
}

// Prelude is the text of those helpers that are asked for in needs, by name or by "name:type", and
// of what they use, in the order of the list. Each begins with an empty line.
func Prelude(helpers []Helper, needs map[string]bool,
	text func(name string, t ir.Type) string) string {
	var pieces []string
	for _, h := range slices.Backward(helpers) {
		if len(h.Types) == 0 && needs[h.Name] {
			for _, u := range h.Uses {
				needs[u] = true
			}
			pieces = append(pieces, "\n"+text(h.Name, ir.Invalid))
		}
		for _, t := range slices.Backward(h.Types) {
			if !needs[h.Name+":"+t.String()] {
				continue
			}
			for _, u := range h.Uses {
				needs[use(u, t)] = true
			}
			pieces = append(pieces, "\n"+text(h.Name, t))
		}
	}
	slices.Reverse(pieces)
	return strings.Join(pieces, "")
}

func use(u string, t ir.Type) string {
	if !strings.Contains(u, ":") {
		return u + ":" + t.String()
	}
	return strings.ReplaceAll(u, "$P", Component(t).String())
}
