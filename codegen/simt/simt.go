// Package simt turns a GPU's loops, which a schedule names and lowering preserves, into launches:
// code that each of many threads runs.
//
// A loop of Blocks becomes a Launch. Each of its blocks runs one iteration. The code inside is run
// as follows:
//
//   - Code outside Warps and Lanes belongs to the block. All threads compute its scalars and follow
//     its branches, which are the same in all threads, and the first thread stores.
//   - Code in a loop of Warps, outside Lanes, belongs to a warp in the same way.
//   - Code in a loop of Lanes belongs to a thread.
//
// A scalar that Lanes or Warps sum is first summed in each thread, then over the threads of a warp
// by shuffles, and then over the warps of the block through shared memory. The order does not
// depend on timing. A Local array of a block or of a warp is in shared memory. A barrier separates
// a store from an access by another thread to the same data. All threads that must meet at a
// barrier reach it.
//
// The leaf's code outside Blocks runs on the host. If it stores to arrays, or has a loop that reads
// them, a launch of one thread runs it.
//
// # Files
//
//	simt.go      Launches and its refusals
//	host.go      code outside Blocks
//	one.go       launches of one thread
//	launch.go    a loop of Blocks
//	body.go      the code inside a loop of Blocks
//	loops.go     Warps and Lanes
//	jam.go       unrolled loops whose iterations are interleaved
//	reduce.go    sums over threads
//	sort.go      sorting by all threads of a unit
//	memory.go    arrays made in Blocks, and statements about whole arrays
//	barriers.go  where threads wait for each other
//	bounds.go    upper bounds of trip counts
//	rewrite.go   expressions with other variables and arrays
package simt

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// Refusal is the reason why a leaf cannot run on a GPU.
type Refusal struct {
	Loop   string // variable of the loop that the reason is about, or ""
	Reason string
}

func (r *Refusal) Error() string {
	if r.Loop == "" {
		return r.Reason
	}
	return fmt.Sprintf("loop %s: %s", r.Loop, r.Reason)
}

// Launches turns the loops of Blocks, Warps and Lanes of f into launches. Code outside these loops
// that the host cannot run becomes launches of one thread. The meaning of f stays the same, except
// for the order of sums. If f cannot run on a GPU, the error is a *Refusal and f is unchanged.
func Launches(f *ir.Func) error {
	h := &host{f: f, names: names(f), bounds: newBounds(f)}
	number := func(of string) *ir.Var { return h.names.newVar(of+"_id", tensor.Int64) }
	h.ids = ids{number("block"), number("thread"), number("warp"), number("lane")}
	body := h.block(f.Body)
	if h.refusal != nil {
		return h.refusal
	}
	f.Body = body
	ir.Simplify(f)
	return nil
}

// namer makes names that nothing else in the leaf has.
type namer map[string]bool

// names returns the names of f's variables, arrays and tables.
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
	ir.WalkRows(f.Body, func(_ ir.Stmt, r *ir.Row) {
		for v, role := range r.Vars() {
			n[v.Name] = n[v.Name] || role == ir.Declares
		}
		for a := range r.Arrays() {
			n[a.Name] = true
		}
		for t := range r.Tables() {
			n[t.Name] = true
		}
	})
	return n
}

// fresh returns base, or base followed by a number.
func (n namer) fresh(base string) string {
	name := base
	for k := 1; n[name]; k++ {
		name = fmt.Sprintf("%s_%d", base, k)
	}
	n[name] = true
	return name
}

func (n namer) newVar(base string, t tensor.Type) *ir.Var { return ir.NewVar(n.fresh(base), t) }

func (n namer) newArray(base string,
	t tensor.Type) *ir.Array {
	return ir.NewArray(n.fresh(base), t)
}
