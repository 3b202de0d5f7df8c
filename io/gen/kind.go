package gen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Kind is a kind of generated data with its parameters, as given by the -g option.
type Kind struct {
	name    string // dense, uniform, zipf, banded; pick, rest or coordinates, which -g does not have
	nnz     int64  // number of entries, for uniform and zipf
	skew    float64
	width   int64
	integer bool // values are 1 to 9 instead of in (0,1]
	// of a pick: the coefficients of the other coordinates, and the constant
	coef  []int64
	first int64
	// of a rest: the values of the other terms of the pick's index, in order
	hidden []int64
}

// parameters is the number of parameters of each kind of data.
var parameters = map[string]int{"dense": 0, "uniform": 1, "zipf": 2, "banded": 1}

// Kinds returns the names of all kinds, in alphabetical order.
func Kinds() []string { return slices.Sorted(maps.Keys(parameters)) }

// Forms lists how each kind of data is written, for messages and help.
const Forms = "dense, uniform:NNZ, zipf:NNZ:SKEW or banded:WIDTH"

// Parse parses a kind of data: dense, uniform:NNZ, zipf:NNZ:SKEW or banded:WIDTH, each with an
// optional :int. name is the tensor's name, for messages. The error is an *Error.
func Parse(name, kind string) (*Kind, error) {
	const want = "want " + Forms + ", and :int at the end for integers"
	bad := func(why string) error {
		return errorf("-g=%s:%s: %s; %s", tensor.Printable(name), tensor.Printable(kind), why, want)
	}
	parts := strings.Split(kind, ":")
	k := &Kind{name: parts[0]}
	if parts[len(parts)-1] == "int" && len(parts) > 1 {
		k.integer = true
		parts = parts[:len(parts)-1]
	}
	n, ok := parameters[k.name]
	if !ok {
		if ours, ok := taco[k.name]; ok {
			return nil, bad("TACO's " + k.name + " must be written as -g=" + tensor.Printable(name) +
				":" + ours)
		}
		return nil, bad("got the kind " + strconv.Quote(k.name))
	}
	if len(parts)-1 != n {
		return nil, bad("got " + tensor.Count(len(parts)-1, "parameter") + ", want " + strconv.Itoa(n))
	}
	switch k.name {
	case "uniform", "zipf":
		if k.nnz, ok = tensor.ParseCount(parts[1]); !ok {
			return nil, bad("got " + strconv.Quote(parts[1]) + " for NNZ, which must be a " +
				"whole number of at least 0")
		}
		if k.name == "zipf" {
			var err error
			if k.skew, err = strconv.ParseFloat(parts[2], 64); err != nil ||
				!(k.skew >= 0 && k.skew <= 100) {
				return nil, bad("got " + strconv.Quote(parts[2]) + " for SKEW, which must be a " +
					"number from 0 to 100")
			}
		}
	case "banded":
		if k.width, ok = tensor.ParseCount(parts[1]); !ok {
			return nil, bad("got " + strconv.Quote(parts[1]) + " for WIDTH, which must be a " +
				"whole number of at least 0")
		}
	}
	return k, nil
}

// taco maps each letter that TACO uses for a kind of data to the kind that Distaff has instead. If
// a user writes such a letter, the error message suggests that kind.
var taco = map[string]string{
	"d": "dense", "r": "dense", "u": "uniform:NNZ", "s": "uniform:NNZ", "h": "uniform:NNZ",
	"v": "uniform:NNZ", "l": "uniform:NNZ",
	"f": "banded:WIDTH", "b": "banded:WIDTH",
}

// String returns the kind in the syntax of -g, without :int.
func (k *Kind) String() string {
	switch k.name {
	case "uniform":
		return fmt.Sprintf("uniform:%d", k.nnz)
	case "zipf":
		return fmt.Sprintf("zipf:%d:%s", k.nnz, strconv.FormatFloat(k.skew, 'g', -1, 64))
	case "banded":
		return fmt.Sprintf("banded:%d", k.width)
	}
	return k.name
}

// Dense reports whether the kind is dense, which gives every coordinate an entry.
func (k *Kind) Dense() bool { return k.name == "dense" || k.name == "coordinates" }

// NNZ returns the number of entries that the kind specifies, or 0 if it does not specify one.
func (k *Kind) NNZ() int64 { return k.nnz }

// Entries returns the number of entries of a tensor with the given sizes, rounded to a float64. For
// uniform and zipf, this is the number that the kind specifies. Bind fails if this number exceeds
// the number of coordinates.
func (k *Kind) Entries(dims []int64) float64 {
	switch k.name {
	case "uniform", "zipf":
		return float64(k.nnz)
	case "banded":
		return bandEntries(dims, k.width)
	case "pick":
		return pickEntries(dims)
	case "rest":
		return max(pickEntries(dims)*(float64(dims[len(dims)-1])-float64(len(k.hidden))), 0)
	}
	n := 1.0
	for _, d := range dims {
		n *= float64(d)
	}
	return n
}

// Bind returns a generator for a tensor of the given name, sizes, type and seed. It keeps dims. It
// returns an *Error if there are more entries than coordinates, or if typ is an integer type or
// Bool and the kind lacks :int.
func (k *Kind) Bind(name string, dims []int64, typ tensor.Type, seed int64) (*Generator, error) {
	if typ.HoldsInts() && !k.integer {
		return nil, errorf(
			"-g=%s:%s generates values in (0,1], which %v cannot hold; want integers, as from "+
				"-g=%s:%s:int", name, k, typ, name, k)
	}
	if space, fits := tcs.Coordinates(dims); fits && k.nnz > space {
		return nil, errorf(
			"-g=%s:%s: got %[5]s for %[3]s, which has only %[4]s (sizes %[6]s)", name, k, name,
			tensor.Count(space, "coordinate"), tensor.Count(k.nnz, "entry"), sizes(dims))
	}
	g := &Generator{Kind: *k, dims: dims, typ: typ, key: mix(uint64(seed) * phi)}
	for _, c := range []byte(name) {
		g.key = mix(g.key ^ uint64(c) + phi)
	}
	return g, nil
}

// sizes formats sizes: "3x4x5", or "scalar".
func sizes(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}

// Band returns the largest difference between two coordinates of an entry. ok is false if the
// kind is not banded.
func (k *Kind) Band() (width int64, ok bool) { return k.width, k.name == "banded" }
