package libdistaff

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"sync"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
)

// group is a program on several ranks of this process. Each rank is a goroutine that waits for
// calls.
type group struct {
	calls []chan func(p *spmd.Program) error
	done  chan error // of each rank, for each call
	ended chan struct{}
	err   error // of spmd.Start; set before ended is closed
	once  sync.Once
}

// startGroup starts the ranks.
func startGroup(ctx context.Context, o spmd.Options) *group {
	g := &group{done: make(chan error, o.Ranks), ended: make(chan struct{})}
	for range o.Ranks {
		g.calls = append(g.calls, make(chan func(p *spmd.Program) error))
	}
	go func() {
		defer close(g.ended)
		g.err = protect(func() error {
			return spmd.Start(ctx, o, func(p *spmd.Program) error {
				for {
					select {
					case f, ok := <-g.calls[p.Rank()]:
						if !ok {
							return nil
						}
						err := f(p)
						g.done <- err
						if err != nil {
							return err
						}
					case <-p.Context().Done():
						return context.Cause(p.Context())
					}
				}
			})
		})
	}()
	return g
}

// do calls f at every rank and waits. After an error the ranks end.
func (g *group) do(f func(p *spmd.Program) error) error {
	for _, c := range g.calls {
		select {
		case c <- f:
		case <-g.ended:
			return g.err
		}
	}
	var first error
	for range g.calls {
		select {
		case err := <-g.done:
			if err != nil {
				first = err
			}
		case <-g.ended:
			return g.err
		}
	}
	if first != nil {
		g.close()
		if g.err != nil { // the error of the rank that failed first
			return g.err
		}
	}
	return first
}

// close ends the ranks.
func (g *group) close() {
	g.once.Do(func() {
		for _, c := range g.calls {
			close(c)
		}
		<-g.ended
	})
}

// openRanks prepares the instance's statement at every rank.
func (x *instance) openRanks(operands []*tcs.Tensor, how spmd.How) error {
	var layout tensor.Layout
	err := x.group.do(func(p *spmd.Program) error {
		k, err := x.s.open(p, operands, how)
		if err == nil && p.Rank() == 0 {
			layout = k.Layout()
		}
		if err == nil {
			k.Close()
		}
		return err
	})
	x.layout = layout
	return err
}

// runRanks runs the instance's statement at every rank. The operands are set again in each run, so
// that it is also planned again.
func (x *instance) runRanks(operands []C.distaff_tensor, result *C.distaff_tensor) error {
	s := x.s
	list := s.tensors(operands)
	var whole *tcs.Tensor
	err := x.group.do(func(p *spmd.Program) error {
		p.Drop(s.stmt.LHS.Name)
		k, err := s.open(p, list, spmd.How{})
		if err != nil {
			return err
		}
		defer k.Close()
		if err := k.Run(); err != nil {
			return err
		}
		t, err := p.Tensor(s.stmt.LHS.Name)
		if err == nil && p.Rank() == 0 {
			whole = t
		}
		return err
	})
	if err != nil {
		return err
	}
	if result.vals == nil {
		give(result, whole)
		return nil
	}
	to := tcs.Array{Ptr: result.vals, Len: int64(result.nvals), Width: uint8(s.result.Type.Size())}
	defer whole.Close()
	s.copyTo(to, whole)
	return nil
}
