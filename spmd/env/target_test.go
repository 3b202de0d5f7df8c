package env

import (
	"context"
	"errors"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/kernels/interpret"
	"distaff/kernels/target"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// TestSettle checks that all ranks settle the target auto alike: on CUDA only if each rank has a
// GPU.
func TestSettle(t *testing.T) {
	for lacking, want := range map[int]codegen.Kind{-1: codegen.CUDA, 1: codegen.CPU} {
		var all [3]Target
		err := local.Run(context.Background(), 3, func(c comm.Comm) error {
			e := New(c, Settings{Threads: 1, Target: target.Auto}, 3, 3)
			defer e.Close()
			e.find = func() error {
				if c.Rank() == lacking {
					return errors.New("no GPU")
				}
				return nil
			}
			if err := e.Settle(); err != nil {
				return err
			}
			all[c.Rank()] = e.TargetOf("")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if got.Kind != want || !got.Auto || got.Strict || got.Name != want.String() {
				t.Errorf("rank %d, a rank that lacks a GPU: %d: got %+v", rank, lacking, got)
			}
		}
		if lacking > 0 && (all[1].Why != "--target=auto: no GPU" ||
			all[0].Why != "--target=auto: another rank has no GPU") {
			t.Errorf("got %+v", all)
		}
	}
}

// TestTargetOf checks the target of statements with and without a target of their own, and that a
// machine without a GPU is an error only if a statement needs one.
func TestTargetOf(t *testing.T) {
	c, end := local.Alone(context.Background())
	defer end()
	for _, x := range []struct {
		target, on string
		want       Target
	}{
		{"", "", Target{Kind: codegen.CPU, Name: "cpu"}},
		{target.CUDA, "", Target{Kind: codegen.CUDA, Name: "cuda"}},
		{target.CUDAOnly, "", Target{Kind: codegen.CUDA, Name: "cuda", Strict: true}},
		{target.CUDAOnly, OnCPU, Target{Kind: codegen.CPU, Name: "cpu", Why: "on cpu"}},
		{"cpu", OnGPU, Target{Kind: codegen.CUDA, Name: "cuda", Why: "on gpu", Strict: true}},
		{target.Interpreter, OnGPU,
			Target{Kind: codegen.CUDA, Name: "interpreter", Why: "on gpu", Strict: true}},
	} {
		e := New(c, Settings{Threads: 1, Target: x.target}, 1, 1)
		if got := e.TargetOf(x.on); got != x.want {
			t.Errorf("--target=%s, on %s: got %+v, want %+v", x.target, x.on, got, x.want)
		}
		e.Close()
	}
	if err := CheckOn("cuda"); err == nil || !strings.Contains(err.Error(), `got "cuda"`) {
		t.Errorf("got %v", err)
	}
	if target.Found() == nil {
		t.Skip("there is a GPU")
	}
	for _, s := range []Settings{{Target: target.CUDA}, {Target: target.CUDAOnly}, {GPU: "job.dst:3: on gpu"}} {
		e := New(c, s, 1, 1)
		if err := e.Ready(); err == nil || strings.HasPrefix(err.Error(), "job.dst:3: on gpu: ") != (s.GPU != "") {
			t.Errorf("%+v: got %v", s, err)
		}
		if err := e.Has(OnCPU); err != nil {
			t.Error(err)
		}
		e.Close()
	}
	t.Cleanup(target.ReplaceCUDA(
		func(target.Config) (kernels.Backend, error) { return interpret.Backend{}, nil }))
	e := New(c, Settings{GPU: "on gpu"}, 1, 1)
	defer e.Close()
	if err := e.Ready(); err != nil || !e.Device() {
		t.Errorf("got %v, device %v", err, e.Device())
	}
}
