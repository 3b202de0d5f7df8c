package mpi

import (
	"cmp"
	"fmt"
	"strconv"
)

// Launcher is the program that started this process as one of several ranks.
type Launcher struct {
	Kind string // such as "mpirun of Open MPI"; it begins with "srun" if srun is the launcher
	// Family is the MPI that the launcher serves: "openmpi", or "mpich" for MPICH and its
	// relatives. It is "" if the launcher does not say.
	Family    string
	Rank      int
	Size      int
	LocalRank int // number among the ranks of this node; -1 if unknown
	// Bare means that the launcher gives ranks no way to meet (srun --mpi=none). MPI would then
	// start Size jobs of one rank each.
	Bare bool
}

// Launched reads from the environment which launcher started the process. ok is false if no
// launcher did, or if this is the only rank; MPI is not needed then.
func Launched(getenv func(string) string) (l Launcher, ok bool, err error) {
	number := func(names ...string) int {
		for _, n := range names {
			if v := getenv(n); v != "" {
				i, e := strconv.Atoi(v)
				if e != nil || i < 0 {
					err = fmt.Errorf(
						"got %s=%q in the environment, want a rank or a number of ranks", n, v)
					return -1
				}
				return i
			}
		}
		return -1
	}
	step := number("SLURM_STEP_NUM_TASKS")
	l.LocalRank = -1
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "":
		l.Kind, l.Family = "mpirun of Open MPI", "openmpi"
		if getenv("SLURM_MPI_TYPE") == "pmix" && step == number("OMPI_COMM_WORLD_SIZE") {
			l.Kind = "srun --mpi=pmix"
		}
		l.Size, l.Rank, l.LocalRank = number("OMPI_COMM_WORLD_SIZE"), number("OMPI_COMM_WORLD_RANK"),
			number("OMPI_COMM_WORLD_LOCAL_RANK")
	case getenv("PMI_SIZE") != "" || (getenv("PMI_RANK") != "" && step > 0):
		l.Kind, l.Family = "mpiexec of MPICH", "mpich"
		if t := getenv("SLURM_MPI_TYPE"); t != "" && step > 0 && getenv("MPI_LOCALRANKID") == "" {
			l.Kind = "srun --mpi=" + t
		}
		l.Size, l.Rank, l.LocalRank = number("PMI_SIZE", "SLURM_STEP_NUM_TASKS"), number("PMI_RANK"),
			number("MPI_LOCALRANKID", "SLURM_LOCALID")
	case getenv("PMIX_RANK") != "" && step > 0:
		l.Kind = "srun --mpi=pmix"
		l.Size, l.Rank, l.LocalRank = step, number("PMIX_RANK"), number("SLURM_LOCALID")
	case getenv("PMIX_RANK") != "":
		// Another launcher that uses PMIx, such as prterun of Open MPI 5. If it serves Open MPI, it
		// sets OMPI_* too.
		l.Kind = "a launcher by PMIx"
		l.Size, l.Rank = number("PMIX_SIZE", "OMPI_UNIVERSE_SIZE"), number("PMIX_RANK")
		if l.Size < 0 {
			l.Size = 0 // unknown until MPI is open
		}
	case step > 1:
		// A batch script and the shell of an allocation are steps of one task, and so is srun -n 1.
		l.Kind = "srun --mpi=" + cmp.Or(getenv("SLURM_MPI_TYPE"), "none")
		l.Size, l.Rank, l.LocalRank = step, number("SLURM_PROCID"), number("SLURM_LOCALID")
		// Types such as cray_shasta use PMI without setting PMI_RANK.
		l.Bare = getenv("SLURM_MPI_TYPE") == "none" || getenv("SLURM_MPI_TYPE") == ""
	default:
		return Launcher{}, false, nil
	}
	if err == nil && l.Rank < 0 {
		err = fmt.Errorf(
			"started by %s, but the environment does not give this process's rank", l.Kind)
	}
	return l, err == nil && l.Size != 1, err
}

// LaunchError says that the launcher and the MPI do not fit together, or that no MPI can be used.
type LaunchError struct{ Text string }

func (e *LaunchError) Error() string { return e.Text }

// ExitCode returns 1.
func (e *LaunchError) ExitCode() int { return 1 }

// singletonsError returns the error of a job for which MPI reports another number of ranks than the
// launcher. size is the number that MPI reports, which is usually one. library describes the MPI
// library. If l.Bare is set, Prepare calls singletonsError before MPI is open, and the error
// contains neither size nor library.
func (l Launcher) singletonsError(size int, library string) error {
	if l.Bare {
		return &LaunchError{fmt.Sprintf(
			"started as %d ranks by %s, which does not let the ranks of an MPI connect; use "+
				"either srun --mpi=pmix for Open MPI, or --mpi=pmi2 for MPICH (srun "+
				"--mpi=list shows what is available), or --ranks for ranks in one process",
			l.Size, l.Kind)}
	}
	return &LaunchError{fmt.Sprintf(
		"started as rank %d of %d by %s, but MPI (%s) reports %d ranks: the launcher must "+
			"belong to this MPI, or there would be %d jobs instead of one; %s",
		l.Rank, l.Size, l.Kind, library, size, l.Size, l.hint())}
}

func (l Launcher) hint() string {
	switch {
	case len(l.Kind) > 4 && l.Kind[:4] == "srun":
		return "use srun --mpi=pmix for Open MPI or --mpi=pmi2 for MPICH, or name the MPI's " +
			"compiler with DISTAFF_MPICC"
	case l.Family == "openmpi":
		return "name either Open MPI's compiler with DISTAFF_MPICC=mpicc.openmpi, or by its " +
			"path, or a wrapper built by it with DISTAFF_MPI_WRAPPER"
	case l.Family == "mpich":
		return "name either MPICH's compiler with DISTAFF_MPICC=mpicc.mpich, or by its path, " +
			"or a wrapper built by it with DISTAFF_MPI_WRAPPER"
	}
	return "name the compiler of the launcher's MPI with DISTAFF_MPICC"
}
