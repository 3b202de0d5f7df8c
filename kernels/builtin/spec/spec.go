// Package spec lists the kernels that are built into the program, as requests to the compiler.
// Their tensors and variables have canonical names (Canonical), like any statement of the same
// form.
package spec

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Kernel is one built-in leaf: a statement over float64 tensors of given formats.
type Kernel struct {
	Name      string   // a C identifier, for example "spmm_ds_32"
	Statement string   // as a user writes it
	Formats   []string // formats like "A:ds"; other tensors are dense
	Width     uint8    // size of positions and coordinates: 4 or 8 bytes
}

// kernels lists the statements. Each has one or more sets of formats.
var kernels = []struct {
	name, statement string
	formats         []string // the formats of the sparse tensors, separated by spaces
}{
	{"spmv", "y(i) = A(i,j) * x(j)", []string{"A:ds", "A:ss"}},
	{"spmm", "A(i,k) = B(i,j) * C(j,k)", []string{"B:ds", "B:ss"}},
	{"sddmm", "A(i,j) = B(i,j) * C(i,k) * D(k,j)", []string{"A:ds B:ds"}},
	{"sddmm_rows", "A(i,j) = B(i,j) * C(i,k) * D(j,k)", []string{"A:ds B:ds"}},
	{"spadd", "A(i,j) = B(i,j) + C(i,j)", []string{"A:ds B:ds C:ds", "A:ss B:ss C:ss"}},
	// for partial TTV and TTM
	{"add3", "A(i,j,k) = B(i,j,k) + C(i,j,k)", []string{"A:sss B:sss C:sss", "A:ssd B:ssd C:ssd"}},
	{"ttv", "A(i,j) = B(i,j,k) * c(k)", []string{"B:sss", "A:ss B:sss"}},
	{"ttm", "A(i,j,l) = B(i,j,k) * C(k,l)", []string{"B:sss", "A:ssd B:sss"}},
	{"ttm_rows", "A(i,j,l) = B(i,j,k) * C(l,k)", []string{"B:sss", "A:ssd B:sss"}},
	{"mttkrp3_0", "A(i,l) = B(i,j,k) * C(j,l) * D(k,l)", []string{"B:sss"}},
	{"mttkrp3_1", "A(j,l) = B(i,j,k) * C(i,l) * D(k,l)", []string{"B:sss"}},
	{"mttkrp3_2", "A(k,l) = B(i,j,k) * C(i,l) * D(j,l)", []string{"B:sss"}},
	{"mttkrp4_0", "A(i,m) = B(i,j,k,l) * C(j,m) * D(k,m) * E(l,m)", []string{"B:ssss"}},
	{"mttkrp4_1", "A(j,m) = B(i,j,k,l) * C(i,m) * D(k,m) * E(l,m)", []string{"B:ssss"}},
	{"mttkrp4_2", "A(k,m) = B(i,j,k,l) * C(i,m) * D(j,m) * E(l,m)", []string{"B:ssss"}},
	{"mttkrp4_3", "A(l,m) = B(i,j,k,l) * C(i,m) * D(j,m) * E(k,m)", []string{"B:ssss"}},
}

// Kernels returns all kernels: each statement with each of its sets of formats, for 4-byte and for
// 8-byte positions and coordinates.
func Kernels() []Kernel {
	var out []Kernel
	for _, k := range kernels {
		for _, f := range k.formats {
			var letters []string
			for _, one := range strings.Fields(f) {
				_, levels, _ := strings.Cut(one, ":")
				letters = append(letters, levels)
			}
			for _, width := range []uint8{4, 8} {
				out = append(out, Kernel{
					Name:      fmt.Sprintf("%s_%s_%d", k.name, strings.Join(letters, "_"), 8*width),
					Statement: k.statement, Formats: strings.Fields(f), Width: width,
				})
			}
		}
	}
	return out
}

// Request returns the compiler's request for the kernel. The tensors and variables have canonical
// names. The sizes are chosen so that the compiler uses the kernel's width for positions and
// coordinates, 4 or 8 bytes.
func (k Kernel) Request() (codegen.Request, error) {
	stmt, err := notation.Parse(k.Statement)
	if err != nil {
		return codegen.Request{}, err
	}
	if err := notation.Check(stmt); err != nil {
		return codegen.Request{}, err
	}
	size := int64(narrowSize)
	if k.Width == 8 {
		size = wideSize
	}
	r := codegen.Request{Statement: codegen.Statement{Stmt: stmt},
		Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}},
		Ask:     codegen.Ask{Name: "leaf"}}
	add := func(a *notation.Access) error {
		if _, ok := r.Tensors.All[a.Name]; ok {
			return nil
		}
		f := tensor.DenseOf(len(a.Vars))
		if i := slices.IndexFunc(k.Formats, func(
			s string) bool {
			return strings.HasPrefix(s, a.Name+":")
		}); i >= 0 {
			if _, f, err = notation.ParseFormatFlag(k.Formats[i]); err != nil {
				return err
			}
		}
		t := codegen.Tensor{Format: f, Type: tensor.Float64, NNZ: -1}
		if k.Width == 4 {
			t.NNZ = narrowSize
		}
		for _, v := range a.Vars {
			r.Tensors.Sizes[v] = size
			t.Dims = append(t.Dims, size)
		}
		for _, kind := range f.Levels {
			if a == stmt.LHS {
				break // the compiler chooses the result's widths
			}
			w := k.Width
			if kind == tensor.Dense {
				w = 0
			}
			t.PosWidth, t.CrdWidth = append(t.PosWidth, w), append(t.CrdWidth, w)
		}
		r.Tensors.All[a.Name] = t
		return nil
	}
	if err := add(stmt.LHS); err != nil {
		return r, err
	}
	for _, a := range accesses(stmt.RHS) {
		if err := add(a); err != nil {
			return r, err
		}
	}
	c, _ := Canonical(r)
	return c, nil
}

func accesses(e notation.Expr) []*notation.Access {
	var out []*notation.Access
	notation.Walk(e, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			out = append(out, a)
		}
		return true
	})
	return out
}
