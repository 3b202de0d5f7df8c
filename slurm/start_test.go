package slurm

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// standIns contains shell scripts that replace Slurm's programs. The daemons run until they are
// killed, and sinfo prints that both nodes are idle.
var standIns = map[string]string{
	"munged":    "exit 0",
	"slurmctld": "exec sleep 60",
	"slurmd":    "exit 1", // unshare runs it
	"unshare":   `[ "$3" = true ] || exec sleep 60`,
	"sinfo":     "echo 2",
	"srun":      "exit 1",
}

// started describes how slurm-up.sh ended.
type started struct {
	code int
	said string
	took time.Duration
	port int    // the first port in slurm.conf, or 0
	jobs string // the number of the first job, or ""
}

// start runs slurm-up.sh with scripts instead of Slurm's programs. other replaces some of the
// scripts in standIns.
func start(t *testing.T, other map[string]string, env ...string) (s started) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("slurm-up.sh wants root")
	}
	bin := t.TempDir()
	for name, text := range standIns {
		if o, ok := other[name]; ok {
			text = o
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\n"+text+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "distaff-slurm-")
	if err != nil {
		t.Fatal(err)
	}
	// slurm-down.sh ends only processes that have the names of Slurm's programs.
	t.Cleanup(func() {
		shells, _ := filepath.Glob(filepath.Join(dir, "*.shell"))
		for _, file := range shells {
			b, _ := os.ReadFile(file)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		os.RemoveAll(dir)
	})
	up := exec.Command("../scripts/slurm-up.sh", dir)
	up.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STATE="+t.TempDir()),
		env...)
	begun := time.Now()
	out, _ := up.CombinedOutput()
	s.code, s.said, s.took = up.ProcessState.ExitCode(), string(out), time.Since(begun)
	conf, _ := os.ReadFile(filepath.Join(dir, "slurm.conf"))
	for _, m := range regexp.MustCompile(
		`(?m)^(SlurmctldPort|FirstJobId)=(\d+)$`).FindAllStringSubmatch(string(conf), -1) {
		if m[1] == "FirstJobId" {
			s.jobs = m[2]
		} else if s.port, err = strconv.Atoi(m[2]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestPorts checks that slurm-up.sh chooses ports below the ephemeral ports, and none that is in
// use.
func TestPorts(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var ephemeral int
	if _, err := fmt.Sscan(string(b), &ephemeral); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]bool{}
	for range 3 { // each runs until the test ends
		s := start(t, nil)
		if s.code != 0 || s.port < 1024 || s.port+2 >= ephemeral {
			t.Errorf("exit code %d, ports from %d on, want all below %d\n%s", s.code, s.port, ephemeral,
				s.said)
		}
		jobs[s.jobs] = true
	}
	if len(jobs) != 3 || jobs[""] {
		t.Errorf(
			"several Slurms number their jobs from %v on, want different numbers: "+
				"Open MPI distinguishes jobs by their numbers", jobs)
	}
	var l net.Listener
	busy := 20002
	for ; l == nil; busy++ {
		l, _ = net.Listen("tcp", fmt.Sprint("127.0.0.1:", busy))
	}
	defer l.Close()
	busy--
	for port := busy - 2; port <= busy; port++ {
		s := start(t, nil, fmt.Sprint("DISTAFF_SLURM_PORT=", port))
		if s.code != 0 || s.port <= busy || s.port > busy+1000 {
			t.Errorf("from port %d on, with %d in use: exit code %d, port %d\n%s", port, busy, s.code,
				s.port, s.said)
		}
	}
}

// TestPortTaken starts a Slurm whose controller reports that its port is in use, although no socket
// of the machine uses it. slurm-up.sh must try other ports.
func TestPortTaken(t *testing.T) {
	s := start(t, map[string]string{
		"slurmctld": `if [ -e "$STATE/tried" ]; then touch "$STATE/up"; exec sleep 60; fi
touch "$STATE/tried"
echo "slurmctld: fatal: slurm_init_msg_engine_port error Address already in use"; exit 1`,
		"sinfo": `[ -e "$STATE/up" ] && echo 2`,
	}, "DISTAFF_SLURM_PORT=21000")
	if s.code != 0 || s.port < 21003 {
		t.Errorf("exit code %d, port %d\n%s", s.code, s.port, s.said)
	}
}

// TestDaemonEnds starts a Slurm with a daemon that ends. slurm-up.sh must fail at once, although
// sinfo waits, and print the last lines of the daemon's log.
func TestDaemonEnds(t *testing.T) {
	for name, other := range map[string]map[string]string{
		"slurmctld": {"slurmctld": "echo first; echo 'slurmctld: fatal: no such thing'; exit 1",
			"sinfo": "exec sleep 60"},
		"slurmd.n": {
			"unshare": "[ \"$3\" = true ] && exit 0; echo first; echo 'slurmd: fatal: no such thing'; exit 1", "sinfo": "exec sleep 60"},
	} {
		s := start(t, other)
		last := strings.Contains(s.said, "slurm-up: "+name) &&
			strings.Contains(s.said, " has ended:\n") && strings.Contains(s.said, "fatal: no such thing\n")
		if s.code != 1 || !last || s.took > 10*time.Second {
			t.Errorf("%s: exit code %d after %v\n%s", name, s.code, s.took, s.said)
		}
	}
}

// TestNodesStayDown starts a Slurm whose nodes never become ready. slurm-up.sh must end in bounded
// time, even if sinfo waits.
func TestNodesStayDown(t *testing.T) {
	s := start(t, map[string]string{"sinfo": "exec sleep 60"}, "DISTAFF_SLURM_SECONDS=3")
	if s.code != 1 || !strings.Contains(s.said, "not up after 3 s") || s.took > 15*time.Second {
		t.Errorf("exit code %d after %v\n%s", s.code, s.took, s.said)
	}
}
