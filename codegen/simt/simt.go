// Package simt turns the loops of a GPU, which a schedule names and lowering keeps, into
// launches: code that each of many threads runs.
//
// A loop of Blocks becomes a Launch, each of whose blocks runs one iteration. Of the code in it,
//
//   - what stands outside of Warps and Lanes is the block's: all threads compute its scalars and
//     follow its branches, which are the same for all of them, and the first thread stores;
//   - what stands in a loop of Warps, outside of Lanes, is a warp's, likewise;
//   - what stands in a loop of Lanes is a thread's.
//
// The scalars that Lanes or Warps sum are summed in each thread first, then over the threads of a
// warp by shuffles, then over the warps of the block through shared memory, in an order that does
// not depend on which comes first. A Local array of a block or of a warp lies in memory that the
// block shares. Where a thread reads what another one stored, or stores to what another one read, a
// barrier stands between; it is never in code that threads that must meet there do not all come to.
//
// The leaf's code outside of Blocks is the host's. Where it stores to arrays, or has a loop that
// reads them, a launch of one thread does.
//
// # Files
//
//	simt.go      Launches and its refusals
//	host.go      code outside of Blocks
//	one.go       launches of one thread
//	launch.go    a loop of Blocks
//	body.go      the code in it, by whose it is
//	loops.go     Warps and Lanes
//	reduce.go    sums over threads
//	memory.go    arrays made in Blocks, and statements about whole arrays
//	barriers.go  where threads wait for each other
//	bounds.go    how many iterations a loop has at most
//	rewrite.go   expressions with other variables and arrays
package simt

import (
	"fmt"

	"distaff/codegen/ir"
)

// A Refusal says why a leaf cannot run on a GPU.
type Refusal struct {
	Loop   string // the variable of the loop that the reason is about; empty for none
	Reason string
}

func (r *Refusal) Error() string {
	if r.Loop == "" {
		return r.Reason
	}
	return fmt.Sprintf("loop %s: %s", r.Loop, r.Reason)
}

// Launches turns the loops of Blocks, Warps and Lanes of f into launches, and code outside of them
// that a host cannot run into launches of one thread. Where it cannot, the error is a *Refusal, and
// f is as it was. What f means stays, but for the order of sums.
func Launches(f *ir.Func) error {
	h := &host{f: f, names: names(f), bounds: newBounds(f)}
	number := func(of string) *ir.Var { return h.names.newVar(of+"_id", ir.Int64) }
	h.ids = ids{number("block"), number("thread"), number("warp"), number("lane")}
	body := h.block(f.Body)
	if h.refusal != nil {
		return h.refusal
	}
	f.Body = body
	ir.Simplify(f)
	return nil
}

// namer gives names that nothing else has.
type namer map[string]bool

// names are those of f's variables, arrays and tables.
func names(f *ir.Func) namer {
	n := namer{}
	variable := func(v *ir.Var) {
		if v != nil {
			n[v.Name] = true
		}
	}
	for _, p := range f.Params {
		variable(p.V)
		if p.A != nil {
			n[p.A.Name] = true
		}
	}
	for _, b := range f.Bounds {
		variable(b[0])
		variable(b[1])
	}
	variable(f.Threads)
	ir.Walk(f.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Declare:
			variable(s.V)
		case *ir.For:
			variable(s.V)
		case *ir.Alloc:
			n[s.A.Name] = true
		case *ir.Local:
			n[s.A.Name] = true
		case *ir.Take:
			n[s.A.Name] = true
		case *ir.AllocTable:
			n[s.T.Name] = true
		}
	})
	return n
}

// fresh is base, or base and a number.
func (n namer) fresh(base string) string {
	name := base
	for k := 1; n[name]; k++ {
		name = fmt.Sprintf("%s_%d", base, k)
	}
	n[name] = true
	return name
}

func (n namer) newVar(base string, t ir.Type) *ir.Var { return ir.NewVar(n.fresh(base), t) }

func (n namer) newArray(base string, t ir.Type) *ir.Array { return ir.NewArray(n.fresh(base), t) }
