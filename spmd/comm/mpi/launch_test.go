package mpi

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(kv ...string) func(string) string {
	return func(name string) string {
		for _, s := range kv {
			if k, v, _ := strings.Cut(s, "="); k == name {
				return v
			}
		}
		return ""
	}
}

// TestLaunched checks the environments that launchers set.
func TestLaunched(t *testing.T) {
	for _, k := range []struct {
		name string
		env  []string
		want Launcher
		ok   bool
		err  string
	}{
		{name: "alone"},
		{name: "mpirun of Open MPI",
			env: []string{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=2",
				"OMPI_COMM_WORLD_LOCAL_RANK=0", "PMIX_RANK=2"},
			want: Launcher{Kind: "mpirun of Open MPI", Family: "openmpi", Rank: 2, Size: 4, LocalRank: 0},
			ok:   true},
		{name: "mpirun of one rank", env: []string{"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0"}},
		{name: "mpirun inside sbatch",
			env: []string{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=1",
				"OMPI_COMM_WORLD_LOCAL_RANK=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=0"},
			want: Launcher{Kind: "mpirun of Open MPI", Family: "openmpi", Rank: 1, Size: 4, LocalRank: 1},
			ok:   true},
		{name: "hydra", env: []string{"PMI_RANK=1", "PMI_SIZE=3", "PMI_FD=9", "MPI_LOCALRANKID=1",
			"MPI_LOCALNRANKS=3"},
			want: Launcher{Kind: "mpiexec of MPICH", Family: "mpich", Rank: 1, Size: 3, LocalRank: 1},
			ok:   true},
		{name: "srun pmi2", env: []string{"SLURM_MPI_TYPE=pmi2", "PMI_RANK=3", "PMI_SIZE=4",
			"SLURM_STEP_NUM_TASKS=4", "SLURM_LOCALID=1", "SLURM_PROCID=3"},
			want: Launcher{Kind: "srun --mpi=pmi2", Family: "mpich", Rank: 3, Size: 4, LocalRank: 1},
			ok:   true},
		{name: "srun pmix", env: []string{"SLURM_MPI_TYPE=pmix", "PMIX_RANK=3", "SLURM_STEP_NUM_TASKS=4",
			"SLURM_LOCALID=0", "SLURM_PROCID=3"},
			want: Launcher{Kind: "srun --mpi=pmix", Rank: 3, Size: 4, LocalRank: 0}, ok: true},
		{name: "srun none", env: []string{"SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=2", "SLURM_LOCALID=2"},
			want: Launcher{Kind: "srun --mpi=none", Rank: 2, Size: 4, LocalRank: 2, Bare: true}, ok: true},
		{name: "batch script", env: []string{"SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_JOB_ID=1"}},
		{name: "shell of an allocation",
			env: []string{"SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_STEP_ID=4294967290",
				"SLURM_STEP_NUM_TASKS=1"}},
		{name: "no rank", env: []string{"OMPI_COMM_WORLD_SIZE=4"}, err: "but the environment does not give this process's rank"},
		{name: "no number", env: []string{"PMI_SIZE=many", "PMI_RANK=0"}, err: `PMI_SIZE="many"`},
	} {
		got, ok, err := Launched(env(k.env...))
		switch {
		case k.err != "":
			if err == nil || !strings.Contains(err.Error(), k.err) {
				t.Errorf("%s: error %v, want %q", k.name, err, k.err)
			}
		case err != nil || ok != k.ok || (ok && got != k.want):
			t.Errorf("%s: %+v %v %v, want %+v %v", k.name, got, ok, err, k.want, k.ok)
		}
	}
}

func TestIdentify(t *testing.T) {
	for _, k := range []struct{ text, family, err string }{
		{"...@dst-mpi-wrapper 1 mpich 4.0.2@...", "mpich", ""},
		{"...@dst-mpi-wrapper 0 mpich 4.0.2@...", "", "version 0, want 1"},
		{"...@dst-mpi-wrapper 1 mpich", "", "is not an MPI wrapper"},
		{"", "", "is not an MPI wrapper"},
	} {
		w, err := identify("x.so", []byte(k.text))
		if (err == nil) != (k.err == "") || (err != nil && !strings.Contains(err.Error(), k.err)) {
			t.Errorf("%q: error %v, want %q", k.text, err, k.err)
		}
		if err == nil && w.Family != k.family {
			t.Errorf("%q: family %q", k.text, w.Family)
		}
	}
	if !strings.Contains(wrapperHeader, "#define DST_MPI_ABI 1\n") || abi != 1 {
		t.Error("the header's version and the program's differ")
	}
}

// TestFind checks the messages if there is no wrapper, or one that must not be run.
func TestFind(t *testing.T) {
	l := Launcher{Kind: "mpirun of Open MPI", Family: "openmpi", Size: 2}
	dir := t.TempDir()
	note := func(string) {}
	if _, err := find(context.Background(), l, env("PATH="+dir, "HOME="+dir), note); err == nil ||
		!strings.Contains(err.Error(), "no mpicc is on PATH") {
		t.Error(err)
	}
	if _, err := find(context.Background(), l, env("PATH="+dir, "DISTAFF_MPICC=nonesuch"),
		note); err == nil || !strings.Contains(err.Error(), "nonesuch") {
		t.Error(err)
	}
	so := filepath.Join(dir, "w.so")
	if _, err := find(context.Background(), l, env("DISTAFF_MPI_WRAPPER="+so), note); err == nil ||
		!strings.Contains(err.Error(), so) {
		t.Error(err)
	}
	if err := os.WriteFile(so, []byte("@dst-mpi-wrapper 1 openmpi 4@"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(so, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := find(context.Background(), l, env("DISTAFF_MPI_WRAPPER="+so), note); err == nil ||
		!strings.Contains(err.Error(), "writable by everyone") {
		t.Error(err)
	}
	// A compiler that fails is quoted.
	bad := filepath.Join(dir, "mpicc")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho mpi.h: No such file >&2\nexit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := find(context.Background(), l,
		env("PATH="+dir+":/usr/bin:/bin", "DISTAFF_MPICC="+bad, "DISTAFF_TMP="+dir), note); err == nil ||
		!strings.Contains(err.Error(), "No such file") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "distaff-*")); len(left) > 0 {
		t.Errorf("a compiler that fails leaves %v", left)
	}
}
