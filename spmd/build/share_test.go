package build

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/kernels/backendtest"
	"distaff/kernels/cc"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// machine is the backend of one rank: C with a Kind of its own. It counts the objects that it
// makes, and may have no compiler.
type machine struct {
	*kernels.C
	kind string
	none bool
	made *atomic.Int32
}

func (m machine) Kind() string { return m.kind }

func (m machine) Object(ctx context.Context, u *codegen.Unit) ([]byte, error) {
	if m.none {
		return nil, kernels.ErrNoCompiler
	}
	m.made.Add(1)
	return m.C.Object(ctx, u)
}

func (m machine) Build(ctx context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	if m.none {
		return nil, kernels.ErrNoCompiler
	}
	m.made.Add(1)
	return m.C.Build(ctx, u)
}

func newC(t *testing.T) *kernels.C {
	t.Helper()
	c, err := kernels.NewC(cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Complete() {
		t.Skip(kernels.ErrNoCompiler)
	}
	return c
}

// TestSharedSuite checks that a shared backend passes the suite at every rank. Ranks run the tests
// in the same order.
func TestSharedSuite(t *testing.T) {
	c := newC(t)
	err := local.Run(context.Background(), 3, func(k comm.Comm) error {
		backendtest.Run(t, Shared(k, c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSharedKinds checks that one rank of a kind makes the object, and that no rank has the leaf if
// no rank of some kind can make it.
func TestSharedKinds(t *testing.T) {
	c := newC(t)
	u := backendtest.Unit(t)
	for _, x := range []struct {
		kinds string // a letter for each rank; upper case means without a compiler
		made  int32
		want  string // the error; "" if every rank has the leaf
	}{
		{"aaa", 1, ""}, {"abab", 2, ""}, {"aAA", 1, ""}, {"aab", 2, ""},
		{"aB", 1, kernels.ErrNoCompiler.Error()}, {"AB", 0, kernels.ErrNoCompiler.Error()},
		// the lowest rank of a kind compiles; otherwise each must have the leaf
		{"Aa", 1, kernels.ErrNoCompiler.Error()},
	} {
		made := new(atomic.Int32)
		err := local.Run(context.Background(), len(x.kinds), func(k comm.Comm) error {
			kind := x.kinds[k.Rank():][:1]
			m := machine{c, strings.ToLower(kind), strings.ToUpper(kind) == kind, made}
			leaf, err := Shared(k, m).Build(context.Background(), u)
			if x.want != "" {
				if !errors.Is(err, kernels.ErrNoCompiler) {
					t.Errorf("%s, rank %d: got %v, want %s", x.kinds, k.Rank(), err, x.want)
				}
				return nil
			}
			if err != nil {
				return err
			}
			return leaf.Close()
		})
		if err != nil {
			t.Errorf("%s: %v", x.kinds, err)
		}
		if made.Load() != x.made {
			t.Errorf("%s: %d ranks made the object, want %d", x.kinds, made.Load(), x.made)
		}
	}
}
