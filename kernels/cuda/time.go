package cuda

import (
	"context"

	"distaff/io/tcs"
	"distaff/kernels"
)

// timer adds up what the device works, without the gaps in which the host does something else.
type timer struct {
	running bool
	ms      float64
}

// work is called before something is launched.
func (c *call) work() error {
	if c.timer == nil || c.timer.running {
		return nil
	}
	c.timer.running = true
	return c.leaf.dev.watch()
}

// pause is called before the host waits or allocates.
func (c *call) pause() error {
	if c.timer == nil || !c.timer.running {
		return nil
	}
	c.timer.running = false
	ms, err := c.leaf.dev.lap()
	c.timer.ms += ms
	return err
}

// Time runs the leaf n times, after once that is not counted, and gives the milliseconds of each by
// the device's clock: of what it launches alone. Arguments are copied up once, and nothing is
// copied down, so that what args has of results is undefined afterwards; a leaf that adds to its
// result adds to what it made the last time.
func (l *Leaf) Time(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env,
	n int) (ms []float64, err error) {
	err = l.on(ctx, args, bounds, env, func(c *call) (err error) {
		defer func() {
			if e := c.end(false); err == nil {
				err = e
			}
		}()
		for k := range n + 1 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := c.again(); err != nil {
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

// again runs the leaf over arguments that may be on the device already.
func (c *call) again() error {
	c.timer = &timer{}
	before := c.blocks
	if before == nil || len(c.arguments) == 0 {
		if err := c.bind(); err != nil {
			return err
		}
	}
	// What an earlier run has published, or not freed.
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
