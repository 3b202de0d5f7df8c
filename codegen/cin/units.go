package cin

import "fmt"

// MisplacedUnit returns the first loop of s whose unit is not allowed at that place, and the
// reason. It returns nil if every unit is allowed at its place. A GPU runs blocks; each block has
// warps of ir.WarpSize threads. The rules are:
//
//   - A loop on GPUBlock is not inside another loop on a unit of a GPU.
//   - A loop on GPUWarp is inside a loop on GPUBlock, and not inside another on GPUWarp or
//     GPUThread.
//   - A loop on GPUThread is inside a loop on GPUBlock, and not inside another on GPUThread. If the
//     block has loops on warps, it must be inside one of them and uses the threads of that warp.
//     Otherwise it uses all threads of the block.
//   - A loop on GPUBlock with chunks uses all threads of its blocks, so no loop inside it is on a
//     unit.
//   - All units of a statement belong to a CPU, or all belong to a GPU.
func MisplacedUnit(s Stmt) (f *Forall, why string) {
	p := &unitPlaces{}
	p.walk(Body(s))
	return p.bad, p.why
}

// SettlesRaces reports whether the race strategy r makes concurrent additions to one element safe
// on a GPU. NoRaces and IgnoreRaces do not, because they say that there are no such additions. An
// outer loop with IgnoreRaces may contain an inner loop with a safe strategy. The strategy of the
// inner loop then decides. The schedules in appendix A of Senanayake (2020) use this exception.
func SettlesRaces(r Race) bool { return r == Atomics || r == Temporary || r == ParallelReduction }

// unitPlaces walks a statement for MisplacedUnit and keeps the loops on units around the current
// place.
type unitPlaces struct {
	first *Forall // the first loop on any unit
	bad   *Forall
	why   string
	// The loops on GPU units around the current place; nil if there is none.
	block, warp, thread *Forall
	// warps is a loop on warps inside the current block, or nil.
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
	default:
		if t := Inner(s); t != nil {
			p.walk(t)
		}
	}
}

// enter checks the loop f and all loops inside it.
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
		if f.Chunk > 0 {
			p.thread = f
		}
	case GPUWarp:
		p.warp = f
	case GPUThread:
		p.thread = f
	}
	p.walk(f.Body)
	p.block, p.warp, p.thread, p.warps = around.block, around.warp, around.thread, around.warps
}

// misplaced returns the reason why f is not allowed at the current place, or "" if it is.
func (p *unitPlaces) misplaced(f *Forall) string {
	around := func(o *Forall) string {
		return fmt.Sprintf("the loop over %s around it runs on %s",
			o.Var, o.Unit)
	}
	switch {
	case p.first != nil && p.first.Unit.OnGPU() != f.Unit.OnGPU():
		return fmt.Sprintf(
			"%s and %s, of the loop over %s, are units of different kinds of processors", f.Unit,
			p.first.Unit, p.first.Var)
	case !f.Unit.OnGPU():
		return ""
	case p.thread != nil:
		return around(p.thread) + ", and one thread cannot contain others"
	case f.Unit == GPUBlock && p.warp != nil:
		return around(p.warp) + ", but loops on blocks must be outermost"
	case f.Unit == GPUBlock && p.block != nil:
		return around(p.block) + " already"
	case f.Unit == GPUWarp && p.warp != nil:
		return around(p.warp) + " already"
	case f.Unit != GPUBlock && p.block == nil:
		return fmt.Sprintf(
			"%s is a part of a block, so a loop around it must run on GPUBlock", f.Unit)
	case f.Unit == GPUThread && p.warp == nil && p.warps != nil:
		return fmt.Sprintf(
			"the loop over %s divides a block's threads into warps, so it must be inside a "+
				"loop on GPUWarp",
			p.warps.Var)
	}
	return ""
}

// firstOn returns the first loop in s on unit u, in the order of Walk, or nil if there is none.
func firstOn(s Stmt, u Unit) (found *Forall) {
	Walk(s, func(t Stmt) {
		if f, ok := t.(*Forall); ok && found == nil && f.Unit == u {
			found = f
		}
	})
	return found
}
