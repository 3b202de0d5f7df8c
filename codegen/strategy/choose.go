package strategy

import "distaff/codegen/cin"

// Choose returns the default strategy of a statement.
func Choose(p *Problem) *Value {
	f := newFacts(p)
	v := f.plain()
	for _, l := range f.parallel() {
		loop := v.loop(l)
		loop.Cut = f.cut(l)
		if !f.fillsSpace(l) {
			if loop.OverPositions = f.positionLoop(l); loop.OverPositions == "" {
				loop.Long = f.long(l, loop.Cut)
			}
		}
	}
	for _, l := range outermost(f.stmt) {
		if why := f.positionLoop(l); why != "" {
			v.loop(l).OverPositions = why
		}
	}
	f.gemms(v)
	if x, found, pays := f.rowTiles(v); pays {
		v.Row = f.row(x)
		if v.Row.Width > 0 {
			for _, s := range found {
				v.Tiles[s] = v.Row.Width
			}
		}
	}
	v.Nontemporal = f.nontemporal(v)
	v.Trips = f.trips()
	v.Gathers = f.gathers()
	v.Lanes = f.lanes()
	v.Predicated, v.Windowed = f.predicated(), f.windowed()
	return v
}

// Plain returns the strategy of a statement whose schedule gives no orders. The assembly, the
// workspaces, the loops with one body for all cases, the tiles of jammed loops and the prefetching
// are the default ones. Everything else has the simplest form.
func Plain(p *Problem) *Value {
	f := newFacts(p)
	v := f.plain()
	for _, l := range f.parallel() {
		if f.grows() && !sums(l) {
			v.loop(l).Cut = f.cut(l)
		}
	}
	return v
}

// plain returns the part of the strategy that Choose and Plain have in common.
func (f *facts) plain() *Value {
	v := &Value{Stmt: f.stmt, Loops: map[*cin.Forall]*Loop{}, Tiles: map[cin.Stmt]int64{},
		Spaces:   map[string]Space{},
		CrdWidth: f.crdWidths(), Weight: f.weights(), PerThread: chunksPerThread,
		CachedPartials: f.problem.Target.FarBytes, Result: f.capacity()}
	f.spaces = v.Spaces
	f.workspaces()
	v.OneBody, v.Unrolled = f.oneBodyLoops(), f.unrolled()
	if !f.problem.Target.GPU {
		v.Jam = f.jam()
		v.Prefetch = append(f.prefetch(), f.stream()...)
	}
	return v
}
