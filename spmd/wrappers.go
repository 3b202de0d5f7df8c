package spmd

import (
	"context"
	"os"

	"distaff/spmd/comm/mpi"
)

// InstallWrappers writes the wrapper of every MPI that is found into dir, for
// a Distaff installed beside it, and returns a line about each.
func InstallWrappers(ctx context.Context, dir string) ([]string, error) {
	return mpi.Install(ctx, dir, os.Getenv)
}
