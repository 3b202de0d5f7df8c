package cin

import "fmt"

// MisplacedUnit is the first loop of s that stands where the hardware has no such unit, with
// the reason; nil where there is none. A GPU runs blocks, each of warps of ir.WarpSize threads:
//
//   - GPUBlock stands in no other loop on a GPU's units;
//   - GPUWarp stands in one on GPUBlock, and in no other on GPUWarp or GPUThread;
//   - GPUThread stands in one on GPUBlock, and in no other on GPUThread. Its threads are those of a
//     warp, where the block has loops on warps, and else those of the block;
//   - a statement has units of a CPU or of a GPU.
func MisplacedUnit(s Stmt) (f *Forall, why string) {
	p := &unitPlaces{}
	p.walk(Body(s))
	return p.bad, p.why
}

// SettlesRaces tells whether a strategy says how iterations of a loop on a GPU's unit add where
// they meet. IgnoreRaces of a loop around it leaves that to it, as the schedules of source 004,
// appendix A, have it: what the inner loop adds is added atomically if iterations of the outer one
// may add there too.
func SettlesRaces(r Race) bool { return r == Atomics || r == Temporary || r == ParallelReduction }

// unitPlaces follows the loops on units.
type unitPlaces struct {
	first *Forall // on any unit
	bad   *Forall
	why   string
	// Around the place at hand; nil where there is none.
	block, warp, thread *Forall
	// warps is a loop on warps of the block at hand.
	warps *Forall
}

func (p *unitPlaces) walk(s Stmt) {
	switch s := s.(type) {
	case *Forall:
		p.enter(s)
	case *Where:
		p.walk(s.Producer)
		p.walk(s.Consumer)
	case *Seq:
		for _, t := range s.List {
			p.walk(t)
		}
	}
}

// enter checks a loop, and those inside it.
func (p *unitPlaces) enter(f *Forall) {
	around := *p
	if f.Unit != Serial && p.bad == nil {
		if p.why = p.misplaced(f); p.why != "" {
			p.bad = f
		}
		if p.first == nil {
			p.first = f
		}
	}
	switch f.Unit {
	case GPUBlock:
		p.block, p.warps = f, firstOn(f.Body, GPUWarp)
	case GPUWarp:
		p.warp = f
	case GPUThread:
		p.thread = f
	}
	p.walk(f.Body)
	p.block, p.warp, p.thread, p.warps = around.block, around.warp, around.thread, around.warps
}

// misplaced is why f cannot stand where it is, "" where it can.
func (p *unitPlaces) misplaced(f *Forall) string {
	around := func(o *Forall) string {
		return fmt.Sprintf("the loop over %s around it runs on %s",
			o.Var, o.Unit)
	}
	switch {
	case p.first != nil && p.first.Unit.OnGPU() != f.Unit.OnGPU():
		return fmt.Sprintf("%s and %s, of the loop over %s, are units of different machines", f.Unit,
			p.first.Unit, p.first.Var)
	case !f.Unit.OnGPU():
		return ""
	case p.thread != nil:
		return around(p.thread) + ", and a thread runs alone"
	case f.Unit == GPUBlock && p.warp != nil:
		return around(p.warp) + ": blocks are outermost"
	case f.Unit == GPUBlock && p.block != nil:
		return around(p.block) + " already"
	case f.Unit == GPUWarp && p.warp != nil:
		return around(p.warp) + " already"
	case f.Unit != GPUBlock && p.block == nil:
		return fmt.Sprintf("%s is a part of a block: a loop around it runs on GPUBlock", f.Unit)
	case f.Unit == GPUThread && p.warp == nil && p.warps != nil:
		return fmt.Sprintf(
			"the loop over %s gives the block's threads to warps: it stands in a loop on GPUWarp",
			p.warps.Var)
	}
	return ""
}

// firstOn is the first loop in s on such a unit; nil for none.
func firstOn(s Stmt, u Unit) (found *Forall) {
	Walk(s, func(t Stmt) {
		if f, ok := t.(*Forall); ok && found == nil && f.Unit == u {
			found = f
		}
	})
	return found
}
