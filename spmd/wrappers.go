package spmd

import (
	"context"
	"os"

	"distaff/spmd/comm/mpi"
)

// InstallWrappers writes the wrapper of every MPI library that it finds into dir, for a Distaff
// that is installed next to dir, and returns a line about each wrapper.
func InstallWrappers(ctx context.Context, dir string) ([]string, error) {
	return mpi.Install(ctx, dir, os.Getenv)
}
