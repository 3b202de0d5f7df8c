package kernels

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
)

// Facts lists what this machine provides for leaves, as `distaff doctor` prints it. If an Err is
// set, its message says what is missing or does not work.
type Facts struct {
	Compiler string // path without symbolic links
	Version  string // version as the compiler reports it
	// CompilerErr says why leaves cannot be compiled, or why a compiled leaf does not run.
	CompilerErr error

	OpenMPThreads int // number of threads that a region got when it asked for two
	OpenMPErr     error

	BLAS, BLASConfig string // the library's path, and its description of itself
	BLASErr          error

	CPU        []string // architecture levels besides native that this machine supports, best first
	Threads    int      // number of threads of a single rank
	ThreadsWhy string

	Cache        string // root of the cache
	CacheObjects int
	CacheBytes   int64
	CacheBad     int // number of objects that cannot be used
	CacheErr     error
}

// doctorLeaf is the C source of a small leaf. Doctor tests the compiler and OpenMP with this leaf.
// The leaf counts the threads of a parallel region.
const doctorLeaf = `
int doctor(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t n = 0;
    (void)bounds;
    #pragma omp parallel num_threads(env->threads) reduction(+:n)
    n += 1;
    *(int64_t *)t[0]->vals.ptr = n;
    return 0;
}
`

// Doctor finds out what this machine has for compiling and running leaves. If there is a compiler,
// Doctor compiles, loads and calls a small leaf.
func Doctor(ctx context.Context, cfg cc.Config) Facts {
	f := Facts{Cache: cfg.Cache}
	f.BLAS, f.BLASConfig, f.BLASErr = BLAS()
	f.Threads, f.ThreadsWhy = DefaultThreads(1, 1)
	for _, level := range cc.Levels {
		if cc.Runs(level) {
			f.CPU = append(f.CPU, level)
		}
	}
	f.CacheErr = f.cacheFacts(cfg)
	found, err := cc.Find(cfg.Compiler, cfg.Path)
	if err != nil {
		f.CompilerErr = err
		f.OpenMPErr = errors.New("OpenMP was not tried, because there is no C compiler")
		return f
	}
	f.Compiler = found.Real
	if f.Version, err = found.Version(ctx); err != nil {
		f.CompilerErr = err
	}
	if f.OpenMPThreads, f.OpenMPErr = tryOpenMP(ctx, cfg); f.OpenMPThreads == 0 {
		f.CompilerErr = cmp.Or(f.CompilerErr, f.OpenMPErr)
		f.OpenMPErr = errors.New("OpenMP was not tried, because no compiled leaf runs")
	}
	return f
}

// cacheFacts fills in the contents of the cache. The error says why the cache cannot be used.
func (f *Facts) cacheFacts(cfg cc.Config) error {
	if cfg.Cache == "" {
		return errors.New("there is no cache, so every leaf is compiled again; set DISTAFF_CACHE")
	}
	if _, err := cc.OpenCache(cfg.Cache, "leaf"); err != nil {
		return fmt.Errorf("the cache of compiled leaves cannot be used, so every leaf is compiled "+
			"again; set "+
			"DISTAFF_CACHE to a folder that can be written: %w", err)
	}
	list, err := cc.List(cfg.Cache)
	for _, e := range list {
		f.CacheObjects++
		f.CacheBytes += e.Size
		if e.Err != nil {
			f.CacheBad++
		}
	}
	return err
}

// tryOpenMP compiles and calls doctorLeaf on two threads. It returns the number of threads that
// ran, or 0 and an error if the leaf could not be compiled, loaded or called.
func tryOpenMP(ctx context.Context, cfg cc.Config) (threads int, err error) {
	var notes []string
	cfg.Cache, cfg.Note = "", func(s string) { notes = append(notes, s) }
	b, err := cc.New(cfg)
	if err != nil {
		return 0, err
	}
	o, err := b.Build(ctx, cc.Source{Text: c.Header() + doctorLeaf, Label: "doctor"})
	if err != nil {
		return 0, err
	}
	leaf, err := Load(o, "doctor")
	if err != nil {
		return 0, err
	}
	defer leaf.Close()
	n := []int64{0}
	t := &tcs.Tensor{Header: tcs.Header{Type: tensor.Int64}, Vals: tcs.Of(n)}
	if err := leaf.Call(ctx, []*tcs.Tensor{t}, nil, Env{Threads: 2}); err != nil {
		return 0, err
	}
	if n[0] != 2 {
		err = fmt.Errorf(
			"a parallel region of 2 threads got %d, so leaves run on one thread", n[0])
		if len(notes) > 0 {
			err = errors.New(notes[0])
		}
	}
	return int(n[0]), err
}
