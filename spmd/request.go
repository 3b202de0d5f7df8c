package spmd

import (
	"distaff/codegen"
)

// request is the job as the compiler takes it.
func (r *run) request() codegen.Request {
	q := codegen.Request{
		Stmt: r.p.stmt, Tensors: map[string]codegen.Tensor{}, Sizes: r.sizes.Vars, ComputeType: irTypes[r.compute],
		RoomBytes: r.job.MemoryLimit / 8,
	}
	if len(r.job.Schedule) > 0 {
		q.Schedule = r.job.Schedule
	}
	for _, name := range r.p.names {
		t := codegen.Tensor{Format: r.formats[name], Type: irTypes[r.types[name]], Dims: r.sizes.Dims[name], NNZ: -1}
		if name == r.p.result {
			q.Tensors[name] = t
			if _, ok := r.sources[name]; !ok {
				continue
			}
		}
		if loaded := r.tensors[name]; loaded != nil {
			t = specTensor(loaded)
		} else {
			t.PosWidth, t.CrdWidth = narrowWidths(t)
		}
		if name == r.p.result {
			q.Old = &t
		} else {
			q.Tensors[name] = t
		}
	}
	return q
}

// narrowWidths are the widths of a tensor that was not loaded: what compile
// prints is the leaf for tensors of fewer than 2^31 entries and coordinates.
func narrowWidths(t codegen.Tensor) (pos, crd []uint8) {
	pos, crd = make([]uint8, len(t.Format.Levels)), make([]uint8, len(t.Format.Levels))
	for l, k := range t.Format.Levels {
		if k.Caps().HasPos {
			pos[l] = 4
		}
		if k.Caps().HasCrd {
			crd[l] = 4
		}
	}
	return pos, crd
}
