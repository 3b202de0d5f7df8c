package env

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"distaff/codegen"
	"distaff/kernels"
)

// CompileAhead compiles leaves in the background before statements request them, and stores them in
// the cache. The function units predicts the leaves: it yields their units. CompileAhead calls it
// on another goroutine. At most one leaf for each core is compiled at a time.
//
// If a statement requests a leaf whose compilation has begun, the statement waits for the leaf, or
// finds it in the cache. Otherwise the statement compiles the leaf itself. A wrong prediction
// therefore changes no result and only costs time. stop cancels all compilations, and waits until
// they have ended.
//
// CompileAhead does nothing if leaves are not kept in a cache, if there is no compiler or only one
// core, or if the target of the job is not the CPU. It compiles no leaves of GPUs.
func (e *Env) CompileAhead(units func(ctx context.Context) iter.Seq[*codegen.Unit]) (stop func(),
	err error) {
	if e.TargetOf("").Kind != codegen.CPU {
		return func() {}, nil
	}
	b, err := e.Backend(codegen.CPU)
	if err != nil {
		return nil, err
	}
	p, ok := b.(kernels.Portable)
	cores := runtime.GOMAXPROCS(0)
	if !ok || !p.Keeps() || !p.Complete() || cores == 1 {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(e.Ctx)
	var all sync.WaitGroup
	free := make(chan struct{}, cores)
	all.Go(func() {
		begun := map[string]bool{}
		for u := range units(ctx) {
			if u.Request.Target.Kind != codegen.CPU || e.Allow(u) != nil {
				continue
			}
			key := p.Key(u)
			if begun[key] {
				continue
			}
			begun[key] = true
			select {
			case <-ctx.Done():
				return
			case free <- struct{}{}:
			}
			all.Go(func() {
				p.Object(ctx, u) // the statement that asks for the leaf reports the error
				<-free
			})
		}
	})
	return func() { cancel(); all.Wait() }, nil
}
