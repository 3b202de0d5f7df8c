package spmd

import (
	"context"
	"os"

	"distaff/spmd/comm/mpi"
)

// InstallWrappers writes a wrapper into dir for each family of MPIs whose compiler it finds. It
// returns a line about each wrapper, and about each MPI for which no wrapper can be built.
func InstallWrappers(ctx context.Context, dir string) ([]string, error) {
	return mpi.Install(ctx, dir, os.Getenv)
}
