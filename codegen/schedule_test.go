package codegen_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/format"
	"distaff/codegen/notation"
)

// kernels that the default schedule treats with care: rows summed in tiles,
// long rows cut, partial sums, shared patterns, pieces of sparse results. Formats
// of each tensor are alternatives, apart by slashes.
var kernels = []string{
	"y(i) = B(i,j)*x(j); y:d B:ds/ss/uq/us x:d/s",
	"y(i) += B(i,j)*x(j) + z(i); y:d B:ds/ss x:d z:d/s",
	"y(i) = B(i,j)*x(j)*z(i); y:d/s B:ds/ss x:d z:d/s",
	"y(j) = B(i,j)*x(i); y:d/s B:ds/ss/dd x:d",
	"a = B(i,j)*x(j)*y(i); a: B:ds/ss/dd/uc x:d/s y:d",
	"a = x(i)*y(i) + z(i); a: x:d/s y:d/s z:d/s",
	"A(i,k) = B(i,j)*C(j,k); A:dd/ds/ss/sd B:ds/ss/dd C:dd/ds/ss",
	"A(i,k) = B(i,j)*C(j,k) + D(i,k); A:dd/ds/sd B:ds/ss C:dd D:dd/ds",
	"A(i,k) = B(j,i)*C(j,k); A:dd/ds B:ds/ss C:dd/ds",
	"A(i,j) = B(i,j)*C(i,k)*D(j,k); A:dd/ds/ss B:ds/ss C:dd D:dd",
	"A(i,j) = B(i,j) + C(i,j); A:dd/ds/ss/sd B:ds/ss/dd/uq C:ds/ss/uq",
	"A(i,j) = B(i,j) + C(i,j) + D(i,j); A:ds/ss B:ds C:ds D:ds/ss",
	"A(i,j) = B(i,j,k)*c(k); A:ds/ss/dd B:sss/dss/ucq c:d/s",
	"A(i,j,l) = B(i,j,k)*C(k,l); A:ssd/ddd/dsd B:sss/dss C:dd/ds",
	"A(i,l) = B(i,j,k)*C(j,l)*D(k,l); A:dd/sd/ds B:sss/dss/ucq C:dd D:dd",
	"A(j,l) = B(i,j,k)*C(i,l)*D(k,l); A:dd/ds B:sss/dss C:dd D:dd",
	"A(k,l) = B(i,j,k)*C(i,l)*D(j,l); A:dd/ds B:sss/dss C:dd D:dd",
	"A(i,j) = B(i,j)*x(j); A:ds/ss B:ds/ss/sd x:d/s",
	"A(i,j,k) = 2*B(i,j,k); A:sss/dss/ssd B:sss/dss/ssd",
	"A(i,j,k) = B(i,j,k) + C(i,j,k); A:sss/dss/dds/sds/ssd/sdd B:sss/dss C:sss/dds",
	"A(i,j,k) = B(k,j,i); A:sss/dds/sds B:sss/dss/sdd",
}

func drawKernel(line string, seed uint64) *problem {
	src, list, _ := strings.Cut(line, ";")
	g := &generator{rng: rand.New(rand.NewPCG(seed, 11)), integer: true}
	p := &problem{src: src, sizes: map[string]int64{}, finite: true, formats: map[string]format.Format{}, data: map[string][]entry{}}
	var err error
	if p.stmt, err = notation.Parse(src); err != nil {
		panic(err)
	}
	p.normal = notation.Normalize(p.stmt)
	for _, v := range p.normal.Vars {
		p.sizes[v] = int64(g.rng.IntN(10))
		if g.rng.IntN(3) > 0 {
			p.sizes[v] += 3
		}
	}
	for _, f := range strings.Fields(list) {
		name, kinds, _ := strings.Cut(f, ":")
		alt := strings.Split(kinds, "/")
		f, err := format.Parse(alt[g.rng.IntN(len(alt))])
		if err != nil {
			panic(err)
		}
		switch {
		case name != p.stmt.LHS.Name:
			p.formats[name], p.data[name] = f, g.entries(p.dims(name))
		default:
			p.result = f
			if p.stmt.Accumulate {
				p.formats[name], p.data[name] = f, g.entries(p.dims(name))
			}
		}
	}
	return p
}

func TestKernels(t *testing.T) {
	var seen counts
	for k := range max(*cases/20, 30) {
		for n, line := range kernels {
			s := *seed + uint64(k*len(kernels)+n)
			p := drawKernel(line, s)
			p.tune = k%2 == 0
			if err := p.try(t, &seen); err != nil {
				t.Fatalf("seed %d: %s\n  sizes %v: %v", s, p, p.sizes, err)
			}
		}
	}
	t.Logf("%+v", seen)
}

// TestSameBits: the number of threads shows in no bit of a result.
func TestSameBits(t *testing.T) {
	for n, line := range kernels {
		for k := range 6 {
			p := drawKernel(line, *seed+uint64(100*n+k))
			p.tune = k%2 == 0
			rng := rand.New(rand.NewPCG(uint64(n), uint64(k)))
			for _, entries := range p.data {
				for e := range entries {
					entries[e].v = rng.NormFloat64()
				}
			}
			u, err := codegen.Compile(p.request())
			if err != nil {
				t.Fatal(err)
			}
			var bits [][]float64
			for _, p.threads = range []int{1, 2, 5} {
				args, err := p.run(u)
				if err != nil {
					t.Fatalf("%s: %v", p, err)
				}
				bits = append(bits, args[0].Vals.Data.([]float64))
			}
			for _, b := range bits[1:] {
				if !slices.Equal(b, bits[0]) {
					t.Errorf("%s, sizes %v: got %v on several threads, want %v", p, p.sizes, b, bits[0])
				}
			}
		}
	}
}

// within is the problem of the coordinates that p's clip leaves, from 0 on.
func (p *problem) within() *problem {
	q := *p
	q.clip = clip{}
	q.sizes = map[string]int64{}
	for v, n := range p.sizes {
		q.sizes[v] = n
	}
	q.sizes[p.clip.v] = p.clip.hi - p.clip.lo
	q.data = map[string][]entry{}
	accesses := p.stmt.Accesses()
	if p.stmt.Accumulate {
		accesses = append(accesses, p.stmt.LHS)
	}
	for _, a := range accesses {
		m := slices.Index(a.Vars, p.clip.v)
		f, dims := p.formats[a.Name], p.dims(a.Name)
		arg := pack(f, dims, slices.Clone(p.data[a.Name]), rand.New(rand.NewPCG(1, 1)))
		walkAll(f, dims, arg, func(at []int64, v float64) {
			at = slices.Clone(at)
			if m >= 0 {
				if at[m] < p.clip.lo || at[m] >= p.clip.hi {
					return
				}
				at[m] -= p.clip.lo
			}
			q.data[a.Name] = append(q.data[a.Name], entry{at, v})
		})
	}
	return &q
}

// TestClip runs leaves over a part of a variable's range, of operands that store
// the whole.
func TestClip(t *testing.T) {
	for k := range max(*cases/20, 30) {
		for n, line := range kernels {
			s := *seed + uint64(k*len(kernels)+n)
			p := drawKernel(line, s)
			p.tune = k%2 == 0
			rng := rand.New(rand.NewPCG(s, 3))
			v := p.normal.Vars[rng.IntN(len(p.normal.Vars))]
			lo := rng.Int64N(p.sizes[v] + 1)
			p.clip = clip{v, lo, lo + rng.Int64N(p.sizes[v]-lo+1)}
			if err := p.clipped(t); err != nil {
				t.Fatalf("seed %d: %s\n  sizes %v, %v: %v", s, p, p.sizes, p.clip, err)
			}
		}
	}
}

func (p *problem) clipped(t *testing.T) error {
	q := p.within()
	want, points, err := q.reference(t)
	if err != nil {
		return err
	}
	u, err := codegen.Compile(p.request())
	if err != nil {
		return err
	}
	args, err := p.run(u)
	if err != nil {
		return err
	}
	for l, m := range u.Result.Format.Order {
		if p.stmt.LHS.Vars[m] != p.clip.v || u.Result.Format.Levels[l] == format.Dense {
			continue
		}
		crd := ints(args[0].Levels[l].Crd)
		for k := range crd {
			crd[k] -= p.clip.lo
		}
		args[0].Levels[l].Crd.Data = crd
	}
	return q.check(u, args, want, points)
}
