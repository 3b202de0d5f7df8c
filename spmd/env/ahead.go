package env

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"distaff/codegen"
	"distaff/kernels"
)

// Ahead compiles the leaves of units that statements are expected to ask for, at this rank and on
// other threads, and puts them into the cache. As many are compiled at once as there are cores. A
// statement that asks for one of them waits for it, or compiles it if nothing has yet begun to.
// What the units are is thus of no importance to any result. Units is asked on another thread. stop
// gives up what is not yet done, and waits for what is under way.
//
// Nothing is done where leaves are not kept, where there is one core, or where the leaves do not
// run on CPUs.
func (e *Env) Ahead(units func(ctx context.Context) iter.Seq[*codegen.Unit]) (stop func(),
	err error) {
	b, err := e.Backend()
	if err != nil {
		return nil, err
	}
	p, ok := b.(kernels.Portable)
	cores := runtime.GOMAXPROCS(0)
	if !ok || !p.Keeps() || !p.Complete() || cores == 1 || e.Code() != codegen.CPU {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(e.Ctx)
	var all sync.WaitGroup
	free := make(chan struct{}, cores)
	all.Go(func() {
		begun := map[string]bool{}
		for u := range units(ctx) {
			key := p.Key(u)
			if e.Allow(u) != nil || begun[key] {
				continue
			}
			begun[key] = true
			select {
			case <-ctx.Done():
				return
			case free <- struct{}{}:
			}
			all.Go(func() {
				p.Object(ctx, u) // its error is told by the statement that asks for it
				<-free
			})
		}
	})
	return func() { cancel(); all.Wait() }, nil
}
