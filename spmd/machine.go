package spmd

import (
	"context"

	"distaff/kernels/tune"
	"distaff/spmd/comm"
	"distaff/spmd/launch"
	"distaff/spmd/tuned"
)

// Machine is the model of a machine: see package tune.
type Machine = tune.Model

// MachineLevel is a cache of a machine, or its memory.
type MachineLevel = tune.Level

// MachinePair is a figure of a machine at one thread, and at all together.
type MachinePair = tune.Pair

// GatheredRow is the bytes of the rows whose gathers a machine's model tells of.
const GatheredRow = tune.RowBytes

// MeasuredMachine is the model of this machine that the cache has; nil where it was not measured.
// The error says why what the cache has is of no use.
func MeasuredMachine() (*Machine, error) { return tuned.Kept() }

// MeasureMachine measures this machine, with messages between ranks of a process, within some 3
// seconds, and keeps the model in the cache. Nothing else is to run beside it.
func MeasureMachine(ctx context.Context) (*Machine, error) { return tuned.Machine(ctx) }

// MeasureMessages measures, in a process that mpirun or srun started as one of several ranks, the
// messages between these, at all of them, for the model that the cache has. The model is rank 0's,
// and nil at other ranks. In any other process it does nothing, and launched is false.
func MeasureMessages(ctx context.Context) (m *Machine, launched bool, err error) {
	l, launched, err := launch.Launched()
	if err != nil || !launched {
		return nil, launched, err
	}
	err = Options{}.launched(ctx, l, func(c comm.Comm, _ Options, _ int) (err error) {
		m, err = tuned.Messages(c)
		return err
	})
	return m, true, err
}
