package cuda

import (
	"context"

	"distaff/io/tcs"
	"distaff/kernels"
)

// timer adds up the working time of the device. It leaves out gaps while the host does other work.
type timer struct {
	running bool
	ms      float64
}

// startTimer starts the timer, which measures how long the device works. Call it before a kernel or
// another operation of the device is started.
func (c *call) startTimer() error {
	if c.timer == nil || c.timer.running {
		return nil
	}
	c.timer.running = true
	return c.leaf.dev.watch()
}

// stopTimer stops the timer, so that the time while the device is idle does not count. Call it
// before the host waits for the device or allocates memory.
func (c *call) stopTimer() error {
	if c.timer == nil || !c.timer.running {
		return nil
	}
	c.timer.running = false
	ms, err := c.leaf.dev.lap()
	c.timer.ms += ms
	return err
}

// Time runs the leaf once without counting it and then n times, and returns the milliseconds of
// each run. The device's clock measures only what the leaf launches. Arguments are copied to the
// device once and results are not copied back, so the results in args are undefined afterwards. A
// leaf that adds to its result adds to the result of the previous run.
func (l *Leaf) Time(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env,
	n int) (ms []float64, err error) {
	err = l.runCall(ctx, args, bounds, env, func(c *call) (err error) {
		defer func() {
			if e := c.end(false); err == nil {
				err = e
			}
		}()
		for k := range n + 1 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := c.runAgain(); err != nil {
				return err
			}
			if k > 0 {
				ms = append(ms, c.timer.ms)
			}
		}
		return nil
	})
	return ms, err
}

// runAgain runs the leaf over arguments that may already be on the device.
func (c *call) runAgain() error {
	c.timer = &timer{}
	before := c.blocks
	if before == nil || len(c.arguments) == 0 {
		if err := c.bind(); err != nil {
			return err
		}
	}
	// Arrays that an earlier run published and that were not freed.
	for _, p := range c.published {
		if err := c.drop(p.b); err != nil {
			return err
		}
	}
	c.published = nil
	if err := c.run(c.leaf.p.f.Body); err != nil {
		return err
	}
	return c.settle()
}
