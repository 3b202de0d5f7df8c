package forecast

import (
	"math"

	"distaff/codegen"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
)

// FitsDevice returns an error if a leaf of the statement certainly needs more memory than a rank's
// GPU has. It counts only bytes that the tensors' sizes determine. On one rank without blocks it
// also counts the entries of an operand if their number is known. FitsDevice returns nil if leaves
// run on CPUs. All ranks return the same error, and every rank must call it.
func FitsDevice(k *prepared.Planned) error {
	if k.Target.Kind != codegen.CUDA {
		return nil
	}
	has, err := k.Reader.Env.DeviceMemory()
	if err == nil && has > 0 {
		if takes, worst, part := largestCall(k); takes > float64(has) {
			rank := ""
			if k.Problem.Ranks > 1 {
				rank = " at a rank"
			}
			err = fault.Memoryf(
				"computing %s needs at least %s of a GPU's memory%s, of which %s needs %s, "+
					"but the GPU has %s; use either more ranks, each with its own GPU, or "+
					"--target=cpu", k.Problem.Norm.LHS.Name,
				fault.Bytes(takes), rank, worst, fault.Bytes(part), tensor.Bytes(has))
		}
	}
	if k.Problem.Ranks == 1 {
		return err
	}
	return comm.Agree(k.Reader.Env.Comm, err)
}

// largestCall finds the leaf call of this rank that certainly needs the most memory. takes is the
// number of bytes that this call needs at least. worst is the name of the call's largest tensor,
// and part is the size of this tensor in bytes.
func largestCall(k *prepared.Planned) (takes float64, worst string, part float64) {
	p, x := k.Problem, &Least{k: k}
	operands := make([]*estimate.Tensor, len(p.Operands))
	for i, o := range p.Operands {
		if t := x.tensor(o.Tensor, o.Partition); len(t.Layout.Dims) > 0 && o.Gathered == nil &&
			t.Partition.IsPlain() {
			operands[i] = t
		}
	}
	result := x.tensor(p.Norm.LHS.Name, p.Result)
	if len(result.Layout.Dims) == 0 || result.Sparse() || !result.Partition.IsPlain() {
		result = nil
	}
	for s := range p.Steps(k.Reader.Env.Comm.Rank()) {
		of := map[string]float64{} // by tensor: one that is read twice may be one array
		for _, n := range s.Need {
			t := operands[n.Operand]
			if t == nil {
				continue
			}
			name := p.Operands[n.Operand].Tensor
			of[name] = max(of[name], fixedBytes(k, t, name, n.Block))
		}
		sum, most, name := 0.0, 0.0, ""
		if result != nil {
			most, name = result.Fixed(s.Partial.Result), p.Norm.LHS.Name
			sum = most
		}
		for n, bytes := range of {
			if sum += bytes; bytes > most || bytes == most && n < name {
				most, name = bytes, n
			}
		}
		if sum > takes {
			takes, worst, part = sum, name, most
		}
	}
	return math.Ceil(takes), worst, part
}

// fixedBytes returns the bytes that block b of an operand certainly occupies.
func fixedBytes(k *prepared.Planned, t *estimate.Tensor, name string, b plan.Block) float64 {
	bytes := t.Fixed(b)
	if src := k.Reader.Sources[name]; k.Problem.Whole && t.Sparse() && src.CountKnown() {
		bytes += src.EntryCount(t.Layout.Dims) * float64(k.Reader.EntryBytes(name))
	}
	return bytes
}
