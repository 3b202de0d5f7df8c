package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/kernels/cuda/nvrtc"
)

// compileFlags are the options for NVRTC. None of them turns off fused multiply-add, because leaves
// for CPUs use it too.
var compileFlags = []string{"--std=c++17"}

// nvrtcCompiler compiles for a GPU.
type nvrtcCompiler struct {
	dev     description
	lib     *nvrtc.Compiler // nil if none was found
	missing error           // the reason why lib is nil
	cache   *cc.Cache       // nil if there is none
	note    func(string)
}

func newNVRTC(cfg Config, dev device) *nvrtcCompiler {
	n := &nvrtcCompiler{dev: dev.describe(), note: cfg.Log}
	if n.note == nil {
		n.note = func(string) {}
	}
	if n.lib, n.missing = nvrtc.Open(); n.missing != nil {
		n.lib = nil
	}
	if cfg.Cache != "" {
		var err error
		if n.cache, err = cc.OpenCache(cfg.Cache, "cuda"); err != nil {
			n.note(fmt.Sprintf("the cache %s is not used: %v", cfg.Cache, err))
		}
	}
	return n
}

func (n *nvrtcCompiler) text(f *ir.Func) string { return emitcuda.Unnamed(f) }

func (n *nvrtcCompiler) prelude() string { return emitcuda.Prelude }

func (n *nvrtcCompiler) product(t tensor.Type) (emitcuda.Product, string) {
	tensorCores := n.dev.arch >= 80
	return emitcuda.ProductOf(t, tensorCores), emitcuda.Products(t, tensorCores)
}

func (n *nvrtcCompiler) complete() bool { return n.lib != nil }

func (n *nvrtcCompiler) name() string {
	if n.lib == nil {
		return "cached kernels"
	}
	return "NVRTC " + n.version()
}

func (n *nvrtcCompiler) version() string {
	major, minor := n.lib.Version()
	return fmt.Sprintf("%d.%d", major, minor)
}

// target returns the architecture to compile for. If NVRTC knows the GPU's own architecture, target
// returns that, and NVRTC produces machine code that the driver loads directly. Otherwise target
// returns the latest earlier architecture that NVRTC knows, and NVRTC produces PTX that the driver
// compiles. If NVRTC knows no earlier one, target returns the GPU's own architecture.
func (n *nvrtcCompiler) target() string {
	best := 0
	for _, a := range n.lib.Architectures() {
		if a == n.dev.arch {
			return n.machine()
		}
		if a < n.dev.arch {
			best = max(best, a)
		}
	}
	if best == 0 {
		return n.machine()
	}
	return fmt.Sprintf("compute_%d", best)
}

func (n *nvrtcCompiler) machine() string { return fmt.Sprintf("sm_%d", n.dev.arch) }

func (n *nvrtcCompiler) kind() string {
	if n.lib == nil {
		return n.machine()
	}
	return n.machine() + " by " + n.name()
}

func (n *nvrtcCompiler) key(src source) string {
	if n.lib == nil {
		return strings.SplitAfter(cc.Name(src.text, n.machine(), compileFlags, nil), ".")[0]
	}
	return cc.Name(src.text, n.machine(), compileFlags, []string{"NVRTC", n.version(), n.target()})
}

func (n *nvrtcCompiler) payload(object []byte) ([]byte, error) {
	o, err := cc.Decode(object)
	if err != nil {
		return nil, err
	}
	if o.Meta.CPU != n.machine() {
		return nil, fmt.Errorf("the kernel was compiled for %s, but %s is %s", o.Meta.CPU, n.dev.name,
			n.machine())
	}
	return o.Payload(), nil
}

func (n *nvrtcCompiler) build(ctx context.Context, src source) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	name := n.key(src)
	if o := n.cached(name, src); o != nil {
		return o.Bytes, nil
	}
	if n.lib == nil {
		return nil, &SetupError{n.missing.Error()}
	}
	target := n.target()
	code, said, err := n.lib.Compile(src.text, target, compileFlags...)
	if err != nil {
		return nil, fmt.Errorf("the kernels of %s: %w", src.label, err)
	}
	if said = strings.TrimSpace(said); said != "" {
		n.note("NVRTC says of the kernels of " + src.label + ": " + said)
	}
	o, err := cc.Seal(code, cc.Meta{
		Label: src.label, Compiler: "NVRTC " + n.version() + " for " + target, Path: n.lib.Path(),
		Flags: slices.Clone(compileFlags),
		CPU:   n.machine(), Made: time.Now().UTC().Truncate(time.Second), Tensors: src.tensors,
	})
	if err != nil {
		return nil, err
	}
	if n.cache != nil {
		if err := n.cache.Put(name, o); err != nil {
			n.note(fmt.Sprintf("the compiled leaf cannot be kept in the cache: %v", err))
		}
	}
	return o.Bytes, nil
}

// cached returns the cached object of a source, or nil. The object must be from an NVRTC of this
// version. If there is no NVRTC, an object from any version is accepted.
func (n *nvrtcCompiler) cached(name string, src source) *cc.Object {
	if n.cache == nil {
		return nil
	}
	if n.lib == nil {
		whole := cc.Name(src.text, n.machine(), compileFlags, nil)
		// The prefix of the name leaves out the compiler.
		return n.cache.Find(strings.Join(strings.Split(whole, ".")[:3], ".") + ".")
	}
	o, err := n.cache.Get(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.note(fmt.Sprintf("a leaf in the cache cannot be used and is compiled again: %v", err))
	}
	if err != nil {
		return nil
	}
	return o
}
