package spmd

import (
	"context"

	"distaff/kernels/tune"
	"distaff/spmd/comm"
	"distaff/spmd/launch"
	"distaff/spmd/tuned"
)

// Machine is the model of a machine. Package tune describes it.
type Machine = tune.Model

// MachineLevel is a cache of a machine, or its main memory.
type MachineLevel = tune.Level

// MachinePair is a measured value for one thread, and for all threads together.
type MachinePair = tune.Pair

// GatheredRow is the size in bytes of the rows that the model's measurements of gathers read.
const GatheredRow = tune.RowBytes

// MeasuredMachine returns the model of this machine from the cache, or nil if the machine was not
// measured. The error says why a model in the cache cannot be used.
func MeasuredMachine() (*Machine, error) { return tuned.MachineModel() }

// MeasureMachine measures this machine and the messages between ranks of one process, in about 3
// seconds, and stores the model in the cache. Nothing else should run on the machine meanwhile.
func MeasureMachine(ctx context.Context) (*Machine, error) { return tuned.Machine(ctx) }

// MeasureMessages measures the messages between the ranks that mpirun or srun started, and adds
// them to the model in the cache. Every rank must call it. The model is returned at rank 0 and is
// nil at other ranks. In a process without a launcher it does nothing and launched is false.
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
