package place

import (
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// BlockSpec is a block schedule before Resolve resolves it for a statement.
type BlockSpec struct {
	Splits []SplitSpec
	Order  []string // block loops, outermost first
	Extend []string // reduction variables with partial results of their own
	Map    []string // variables that determine the rank of a block
	// Exact says that the names are names of the normal form, which renames the variables of each
	// sum() apart. Otherwise they are the names that the user wrote.
	Exact bool
}

// Empty reports whether the spec says nothing.
func (s *BlockSpec) Empty() bool {
	return s == nil || len(s.Splits)+len(s.Order)+len(s.Extend)+len(s.Map) == 0
}

// SplitSpec cuts one variable into Count even ranges, or at Points.
type SplitSpec struct {
	Var    string
	Count  int64
	Points []int64 // used if Count is 0; may be empty (one range)
}

// ParseSplit reads the value of --split: "i:4" is a count, "i:100,200" are
// points, and "i:100," is a single point.
func ParseSplit(s string) (SplitSpec, error) {
	bad := func(pos, end int, got string) error {
		return diag.At("split", s, pos, end,
			`%s; want either VAR:COUNT or VAR:POINT,POINT,...; a single point ends with a comma, as `+
				`in "i:5,"`, got)
	}
	name, value, ok := strings.Cut(s, ":")
	if !ok || !notation.IsName(name) {
		return SplitSpec{}, bad(0, len(name), "got "+strconv.Quote(s))
	}
	at := len(name) + 1
	if value == "" {
		return SplitSpec{}, bad(at, at, "got neither a count nor points")
	}
	if !strings.Contains(value, ",") {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return SplitSpec{}, bad(at, len(s), "got the count "+strconv.Quote(value)+", "+
				"which must be a whole number of at least 1")
		}
		return SplitSpec{Var: name, Count: n}, nil
	}
	spec := SplitSpec{Var: name}
	for part := range strings.SplitSeq(strings.TrimSuffix(value, ","), ",") {
		p, err := strconv.ParseInt(part, 10, 64)
		if err != nil || p < 0 {
			return SplitSpec{}, bad(at, at+max(len(part), 1),
				"got the point "+strconv.Quote(part)+", which must be a whole number of "+
					"at least 0")
		}
		if n := len(spec.Points); n > 0 && p < spec.Points[n-1] {
			return SplitSpec{}, bad(at, at+len(part), "got points that decrease")
		}
		spec.Points = append(spec.Points, p)
		at += len(part) + 1
	}
	return spec, nil
}

// ParseVars reads the value of the flag --order, --extend or --map: names separated by commas.
func ParseVars(flag, s string) ([]string, error) {
	var names []string
	at := 0
	for part := range strings.SplitSeq(s, ",") {
		name := strings.TrimSpace(part)
		if !notation.IsName(name) {
			return nil, diag.At("block-vars", s, at, at+max(len(part), 1),
				"--%s: got %q, want index variables separated by commas", flag, part)
		}
		for _, other := range names {
			if other == name {
				return nil, diag.At("block-vars", s, at, at+len(part),
					"--%s: got %s twice, want each variable only once", flag, name)
			}
		}
		names = append(names, name)
		at += len(part) + 1
	}
	return names, nil
}

// ParseBlocks returns the block schedule with the given values of --split, --order, --extend and
// --map.
func ParseBlocks(splits []string, order string, extend []string, mapped string) (*BlockSpec,
	error) {
	s := &BlockSpec{}
	for _, text := range splits {
		split, err := ParseSplit(text)
		if err != nil {
			return nil, err
		}
		s.Splits = append(s.Splits, split)
	}
	var err error
	if order != "" {
		if s.Order, err = ParseVars("order", order); err != nil {
			return nil, err
		}
	}
	for _, text := range extend {
		vars, err := ParseVars("extend", text)
		if err != nil {
			return nil, err
		}
		s.Extend = append(s.Extend, vars...)
	}
	if mapped != "" {
		if s.Map, err = ParseVars("map", mapped); err != nil {
			return nil, err
		}
	}
	return s, nil
}
