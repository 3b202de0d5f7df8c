package clike

import (
	"slices"
	"strings"

	"distaff/io/tensor"
)

// Helper is a part of a prelude. If Types is not empty, the helper has a copy for each of these
// types, and the name of a copy contains its type.
type Helper struct {
	Name  string
	Types []tensor.Type
	// Uses lists earlier parts that this one needs, as "name" or "name:type". For a typed part,
	// "name" means the copy for its own type, and "name:$P" the copy for the type of its
	// components.
	Uses []string
}

// Prelude returns the text of the helpers that a file needs, each after an empty line, in the order
// of the argument helpers. The keys of needs are "name" or "name:type". Prelude also adds the
// helpers that the needed helpers use. text returns the text of one helper.
func Prelude(helpers []Helper, needs map[string]bool,
	text func(name string, t tensor.Type) string) string {
	var pieces []string
	for _, h := range slices.Backward(helpers) {
		if len(h.Types) == 0 && needs[h.Name] {
			for _, u := range h.Uses {
				needs[u] = true
			}
			pieces = append(pieces, "\n"+text(h.Name, tensor.None))
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

func use(u string, t tensor.Type) string {
	if !strings.Contains(u, ":") {
		return u + ":" + t.String()
	}
	return strings.ReplaceAll(u, "$P", Component(t).String())
}
