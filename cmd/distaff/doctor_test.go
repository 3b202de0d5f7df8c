package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestRefusesRoot(t *testing.T) {
	const may, surely = "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"
	for _, c := range []struct {
		uid  int
		env  map[string]string
		want bool
	}{
		{0, nil, true}, {0, map[string]string{may: "1"}, true},
		{0, map[string]string{may: "1", surely: "1"}, false}, {1000, nil, false},
	} {
		if got := refusesRoot(c.uid, func(v string) string { return c.env[v] }); got != c.want {
			t.Errorf("user %d, %v: got %v", c.uid, c.env, got)
		}
	}
}

// TestMpirunAsRoot checks that Open MPI's mpirun behaves for root as the documents say.
func TestMpirunAsRoot(t *testing.T) {
	if out, err := exec.Command("mpirun", "--version").Output(); err != nil ||
		!strings.Contains(string(out), "Open MPI") {
		t.Skip("needs Open MPI's mpirun")
	}
	if out, err := exec.Command("id", "-u").Output(); err != nil ||
		strings.TrimSpace(string(out)) != "0" {
		t.Skip("needs to be root")
	}
	var plain []string
	for _, v := range cleanEnv(t) {
		if !strings.HasPrefix(v, "OMPI_") {
			plain = append(plain, v)
		}
	}
	for _, c := range []struct {
		args, env []string
		says      string
	}{
		{nil, nil, "mpirun has detected an attempt to run as root."},
		{[]string{"--allow-run-as-root"}, nil, ""},
		{nil, []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}, ""},
	} {
		cmd := exec.Command("mpirun", append(c.args, "-n", "1", "true")...)
		cmd.Env = append(plain, c.env...)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.says != "") || !strings.Contains(string(out), c.says) {
			t.Errorf("%v %v: got %v:\n%s\nwant %q", c.env, c.args, err, out, c.says)
		}
	}
}
