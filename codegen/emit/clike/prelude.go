package clike

import (
	"slices"
	"strings"

	"distaff/codegen/algebra"
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

// Calls returns a helper for each function of package algebra. Its text is the text of CallText.
func Calls() (list []Helper) {
	for _, f := range algebra.Functions {
		list = append(list, Helper{Name: "fn_" + f.Name,
			Types: []tensor.Type{tensor.Float32, tensor.Float64}})
	}
	return list
}

// CallText returns the text of the helper of a function of package algebra. head stands before its
// type. If declare is true, the text also declares the function of the C library that it calls.
// CallText returns "" if the helper is not one of Calls.
func CallText(helper, head string, declare bool, t tensor.Type) string {
	name, ok := strings.CutPrefix(helper, "fn_")
	if !ok {
		return ""
	}
	f, typ, suffix := algebra.Find(name), "double", ""
	if t == tensor.Float32 {
		typ, suffix = "float", "f"
	}
	params, args := typ+" x", "x"
	if f.Args == 2 {
		params, args = params+", "+typ+" y", "x, y"
	}
	value, text := f.C, ""
	if library := f.Library + suffix; f.Library != "" {
		value = library + "(" + args + ")"
		if declare {
			text = typ + " " + library + "(" + params + ");\n"
		}
	}
	return text + head + typ + " dst_" + helper + "_" + Suffix(t) + "(" + params + ") { return " +
		value + "; }\n"
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
