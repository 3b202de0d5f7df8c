package kernels

import (
	"os"
	"testing"
)

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		affinity      int
		quota         float64
		env           map[string]string
		node, process int
		want          int
		why           string
	}{
		{8, 0, nil, 1, 1, 8, "8 CPUs"},
		{8, 0, nil, 4, 1, 2, "8 CPUs for 4 ranks"},
		{8, 0, nil, 3, 3, 2, "8 CPUs for 3 ranks"},
		{2, 0, nil, 8, 8, 1, "2 CPUs for 8 ranks"},
		{8, 2, nil, 1, 1, 2, "2 CPUs by the cgroup's quota"},
		{8, 0.2, nil, 1, 1, 1, "1 CPU by the cgroup's quota"},
		{8, 1.5, nil, 1, 1, 2, "2 CPUs by the cgroup's quota"},
		{8, 16, nil, 1, 1, 8, "8 CPUs"},
		{8, 0, map[string]string{"OMP_NUM_THREADS": "3"}, 4, 4, 3, "OMP_NUM_THREADS"},
		{8, 0, map[string]string{"OMP_NUM_THREADS": " 16,2 "}, 1, 1, 16, "OMP_NUM_THREADS"},
		{8, 0, map[string]string{"OMP_NUM_THREADS": "many"}, 1, 1, 8, "8 CPUs"},
		{8, 0, map[string]string{"OMP_NUM_THREADS": "0"}, 1, 1, 8, "8 CPUs"},
		{8, 0, map[string]string{"SLURM_CPUS_PER_TASK": "2"}, 4, 1, 2, "8 CPUs for 4 ranks"},
		{8, 0, map[string]string{"SLURM_CPUS_PER_TASK": "2"}, 1, 1, 2, "SLURM_CPUS_PER_TASK"},
		{64, 0, map[string]string{"SLURM_CPUS_PER_TASK": "8"}, 4, 4, 2,
			"SLURM_CPUS_PER_TASK for 4 ranks in a process"},
		{64, 0, map[string]string{"SLURM_CPUS_PER_TASK": "8", "SRUN_CPUS_PER_TASK": "4"}, 1, 1, 4,
			"SRUN_CPUS_PER_TASK"},
		{4, 0, map[string]string{"SLURM_CPUS_PER_TASK": "8"}, 1, 1, 4, "4 CPUs"},
	} {
		co := cores{c.affinity, c.quota, func(k string) string { return c.env[k] }}
		if n, why := co.threads(c.node, c.process); n != c.want || why != c.why {
			t.Errorf("%+v: %d (%s)", c, n, why)
		}
	}
	if n, why := DefaultThreads(1, 1); n < 1 || why == "" || Cores() < 1 {
		t.Errorf("here: %d (%s), %d cores", n, why, Cores())
	}
}

func TestCgroupQuota(t *testing.T) {
	for _, c := range []struct {
		group string
		files map[string]string
		want  float64
	}{
		{"0::/job/step\n", map[string]string{"/sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
			"/sys/fs/cgroup/job/cpu.max": "250000 100000\n"}, 2.5},
		{"0::/job/step\n", map[string]string{"/sys/fs/cgroup/job/step/cpu.max": "100000 100000\n",
			"/sys/fs/cgroup/job/cpu.max": "250000 100000\n"}, 1},
		{"0::/outside\n", map[string]string{"/sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3},
		{"0::/\n", map[string]string{"/sys/fs/cgroup/cpu.max": "max 100000\n"}, 0},
		{"3:memory:/m\n4:cpu,cpuacct:/c\n", map[string]string{
			"/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us":  "400000\n",
			"/sys/fs/cgroup/cpu/c/cpu.cfs_period_us": "100000\n"}, 4},
		{"4:cpu,cpuacct:/c\n", map[string]string{"/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us": "-1\n",
			"/sys/fs/cgroup/cpu/c/cpu.cfs_period_us": "100000\n"}, 0},
		{"4:cpuset:/c\n", nil, 0},
		{"nonsense\n", nil, 0},
	} {
		got := cgroupQuota(c.group, func(name string) ([]byte, error) {
			if s, ok := c.files[name]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%q: %v, want %v", c.group, got, c.want)
		}
	}
}
