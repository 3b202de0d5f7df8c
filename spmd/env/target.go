package env

import (
	"cmp"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// The targets that a statement can name for itself (see Env.TargetOf).
const (
	OnCPU = "cpu"
	OnGPU = "gpu"
)

// CheckOn returns an error unless on is OnCPU, OnGPU or "".
func CheckOn(on string) error {
	if on == "" || on == OnCPU || on == OnGPU {
		return nil
	}
	return fault.Commandf("got %q for a statement to run on, want %s or %s", on, OnCPU, OnGPU)
}

// Target is the kind of hardware that the leaves of a statement run on.
type Target struct {
	Kind codegen.Kind
	// Name is the name of the target in statistics and plans.
	Name string
	// Why is the reason for the target, or "" if it is the job's target.
	Why string
	// Strict means that a statement that a GPU cannot run is refused, and does not run on the CPU.
	Strict bool
	// Auto means that the user left the choice to Distaff.
	Auto bool
}

// To changes the target to the CPU. why is the reason.
func (t *Target) To(e *Env, why string) {
	*t = Target{Kind: codegen.CPU, Name: e.nameOf(codegen.CPU), Why: why}
}

// TargetOf returns the target of a statement that runs on the target on: OnCPU, OnGPU, or "" for
// the target of the job.
func (e *Env) TargetOf(on string) Target {
	name := cmp.Or(e.set.Compiled, e.set.Target)
	t := Target{Kind: target.Code(name), Why: e.auto, Strict: name == target.CUDAOnly,
		Auto: e.auto != ""}
	switch on {
	case OnCPU:
		t = Target{Kind: codegen.CPU, Why: "on " + on}
	case OnGPU:
		t = Target{Kind: codegen.CUDA, Why: "on " + on, Strict: true}
	}
	t.Name = e.nameOf(t.Kind)
	return t
}

// nameOf returns the name of the target of leaves of the given kind.
func (e *Env) nameOf(k codegen.Kind) string {
	return target.Of(cmp.Or(e.set.Compiled, e.set.Target), k)
}

// Device reports whether the job may have GPUs, so that placements may name their memory.
func (e *Env) Device() bool {
	return e.keeper != nil || e.set.GPU != "" || e.auto != "" || e.TargetOf("").Kind == codegen.CUDA
}

// Settle replaces the target auto by CUDA if every rank finds a GPU, and otherwise by CPU. Every
// rank must call it.
func (e *Env) Settle() error {
	s := &e.set
	if s.Target != target.Auto && s.Compiled != target.Auto {
		return nil
	}
	lacks := e.find()
	all := []int64{1}
	if lacks != nil {
		all[0] = 0
	}
	if err := e.Comm.Uncounted().Allreduce(comm.Of(all), comm.Min); err != nil {
		return err
	}
	name := target.CPU
	switch {
	case all[0] == 1:
		name, e.auto = target.CUDA, "--target=auto: there is a GPU"
	case lacks != nil:
		e.auto = "--target=auto: " + lacks.Error()
	default:
		e.auto = "--target=auto: another rank has no GPU"
	}
	e.Detail(e.auto)
	if s.Target == target.Auto {
		s.Target = name
	}
	if s.Compiled == target.Auto {
		s.Compiled = name
	}
	return nil
}

// Ready settles the target (see Settle). It returns an error if this machine lacks the hardware or
// the libraries that the job's statements need. It is called before anything is read. Every rank
// must call it.
func (e *Env) Ready() error {
	if err := e.Settle(); err != nil {
		return err
	}
	if e.set.GPU != "" {
		return e.Has(OnGPU)
	}
	return e.Has("")
}

// Has returns an error if this machine lacks the hardware or the libraries that a statement on the
// target on needs (see TargetOf).
func (e *Env) Has(on string) error {
	if e.set.Target == target.Interpreter || e.TargetOf(on).Kind == codegen.CPU {
		return nil
	}
	_, err := e.Backend(codegen.CUDA)
	return err
}

// Backend returns the backend that makes leaves of the given kind. It is created at the first call.
func (e *Env) Backend(k codegen.Kind) (kernels.Backend, error) {
	if b := e.backends[k]; b != nil {
		return b, nil
	}
	b, err := e.set.Backend(k)
	if err != nil {
		return nil, err
	}
	if keeper, ok := b.(kernels.Keeper); ok {
		e.keeper = keeper
	}
	if p, ok := b.(kernels.Portable); ok && e.Comm.Size() > 1 {
		b = build.Shared(e.Comm, p)
	}
	if e.backends == nil {
		e.backends = map[codegen.Kind]kernels.Backend{}
	}
	e.backends[k] = b
	return b, nil
}
