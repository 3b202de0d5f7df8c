package notation

import (
	"fmt"
	"slices"
)

// Broadcast returns the text of a statement that broadcasts modes of size 1, as NumPy does. If an
// index variable has a size above 1 in some accesses and the size 1 in others, the others get a
// variable of their own, which has the size 1 and is summed. sizes has the sizes of tensors, and of
// index variables as single sizes. Accesses of a tensor without sizes stay as they are, and so does
// the left side.
func Broadcast(text string, sizes map[string][]int64) (string, error) {
	s, err := Parse(text)
	if err != nil {
		return "", err
	}
	most := map[string]int64{}
	used := map[string]bool{}
	for _, a := range append(s.Accesses(), s.LHS) {
		used[a.Name] = true
		for k, v := range a.Vars {
			used[v] = true
			if n := sizes[v]; len(n) == 1 {
				most[v] = max(most[v], n[0])
			}
			if n := sizes[a.Name]; len(n) == len(a.Vars) {
				most[v] = max(most[v], n[k])
			}
		}
	}
	type edit struct {
		at   Span
		name string
	}
	var edits []edit
	names := map[string]string{}
	for _, a := range s.Accesses() {
		n := sizes[a.Name]
		if len(n) != len(a.Vars) {
			continue
		}
		for k, v := range a.Vars {
			if n[k] != 1 || most[v] <= 1 {
				continue
			}
			for m := 1; names[v] == ""; m++ {
				if name := fmt.Sprintf("%s_%d", v, m); !used[name] {
					names[v], used[name] = name, true
				}
			}
			edits = append(edits, edit{a.VarAt[k], names[v]})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.at.Pos - a.at.Pos })
	for _, e := range edits {
		text = text[:e.at.Pos] + e.name + text[e.at.End:]
	}
	return text, nil
}
