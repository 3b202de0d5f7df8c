package spmd

import (
	"context"
	"os"

	"distaff/spmd/comm/mpi"
)

// InstallWrappers writes a wrapper into dir for each family of MPIs whose compiler it finds, if the
// wrapper can be built. It returns a line about each wrapper, and about each MPI for which no
// wrapper can be built. If it finds no compiler, the only line says so.
func InstallWrappers(ctx context.Context, dir string) ([]string, error) {
	return mpi.Install(ctx, dir, os.Getenv)
}
