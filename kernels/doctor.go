package kernels

import (
	"context"
	"errors"
	"fmt"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels/cc"
)

// Facts are what this machine has for leaves, as `distaff doctor` tells it. Where
// an Err is set, its message says what is missing and what that costs.
type Facts struct {
	Compiler    string // path, resolved
	Version     string // its own words
	CompilerErr error

	OpenMPThreads int // that a region asked for two of them got
	OpenMPErr     error

	BLAS, BLASConfig string // the library's path, and its own words
	BLASErr          error

	CPU        []string // architecture levels beside native that run here, best first
	Threads    int      // a single rank's
	ThreadsWhy string

	Cache        string // its root
	CacheObjects int
	CacheBytes   int64
	CacheBad     int // objects that cannot be used
	CacheErr     error
}

// doctorLeaf says how many threads a parallel region gets.
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

// Doctor finds the facts. It compiles, loads and calls a small leaf.
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
		f.OpenMPErr = errors.New("not tried, for want of a C compiler")
		return f
	}
	f.Compiler = found.Real
	if f.Version, err = found.Version(ctx); err != nil {
		f.CompilerErr = err
	}
	f.OpenMPThreads, f.OpenMPErr = tryOpenMP(ctx, cfg)
	return f
}

// cacheFacts fills in what the cache holds, and says why it is of no use.
func (f *Facts) cacheFacts(cfg cc.Config) error {
	if cfg.Cache == "" {
		return errors.New("no cache: every leaf is compiled again; set DISTAFF_CACHE")
	}
	if _, err := cc.OpenCache(cfg.Cache, "leaf"); err != nil {
		return fmt.Errorf("not used, so every leaf is compiled again: %w", err)
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
	t := &tcs.Tensor{Header: tcs.Header{Type: tcs.Int64}, Vals: tcs.Of(n)}
	if err := leaf.Call(ctx, []*tcs.Tensor{t}, nil, Env{Threads: 2}); err != nil {
		return 0, err
	}
	if n[0] != 2 {
		err = fmt.Errorf("a parallel region of 2 threads got %d: leaves run on one thread", n[0])
		if len(notes) > 0 {
			err = errors.New(notes[0])
		}
	}
	return int(n[0]), err
}
