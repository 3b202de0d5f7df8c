package jobfile

import (
	"slices"
	"testing"

	"distaff/io/tensor"
)

// TestLinalgTypes checks the types of the results of functions of whole matrices.
func TestLinalgTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []tensor.Type
		want []tensor.Type
	}{
		{"inv", []tensor.Type{tensor.Bool}, []tensor.Type{tensor.Float64}},
		{"inv", []tensor.Type{tensor.Uint8}, []tensor.Type{tensor.Float64}},
		{"inv", []tensor.Type{tensor.Float32}, []tensor.Type{tensor.Float32}},
		{"solve", []tensor.Type{tensor.Float32, tensor.Int64}, []tensor.Type{tensor.Float64}},
		{"eigh", []tensor.Type{tensor.Complex64}, []tensor.Type{tensor.Float32, tensor.Complex64}},
	} {
		f := &Linalg{Func: c.name, Out: []string{"X", "Y"}[:len(c.want)]}
		if got := f.Types(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s of %v: got %v, want %v", c.name, c.in, got, c.want)
		}
	}
}
