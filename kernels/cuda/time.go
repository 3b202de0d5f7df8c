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
	return c.dev.watch()
}

// pause is called before the host waits or allocates.
func (c *call) pause() error {
	if c.timer == nil || !c.timer.running {
		return nil
	}
	c.timer.running = false
	ms, err := c.dev.lap()
	c.timer.ms += ms
	return err
}
