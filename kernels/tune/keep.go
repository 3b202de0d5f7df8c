package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"distaff/kernels"
	"distaff/kernels/cc"
)

// Version is the version of the probes and of the model. A model that an earlier version stored is
// not used.
const Version = "5"

// folder is the folder of the models in the cache, and label is their name in listings of the
// cache.
const folder, label = "machine", "machine model"

// name returns the name under which the cache stores the model of this machine. It contains the
// kind of the processor and the number of processors of the whole machine, including the processors
// that this process may not use.
func name() string {
	return cc.Name(label+" "+Version, cc.CPUKind(cc.Native),
		[]string{strconv.Itoa(kernels.HardwareThreads())}, nil)
}

// Keep stores a model in the cache at root and replaces the model that was there.
func Keep(root string, m *Model) error {
	if root == "" {
		return errors.New("there is no cache; set DISTAFF_CACHE to a folder")
	}
	c, err := cc.OpenCache(root, folder)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic("BUG: tune: a model does not marshal: " + err.Error())
	}
	o, err := cc.Seal(text, cc.Meta{Label: label, CPU: cc.CPUKind(cc.Native),
		Made: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return c.Put(name(), o)
}

// LoadModel returns the model of this machine from the cache at root, or nil if the cache has none.
// The error says why a stored model cannot be used.
func LoadModel(root string) (*Model, error) {
	if root == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(root, folder)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c, err := cc.OpenCache(root, folder)
	if err != nil {
		return nil, err
	}
	o, err := c.Get(name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if err := json.Unmarshal(o.Payload(), m); err != nil {
		return nil, fmt.Errorf("cannot read the machine model in the cache: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// again is the end of check's messages.
const again = "; run distaff doctor --tune again"

// check returns an error if the model lacks a figure or has an impossible figure. It accepts a
// model without FirstTouch, Atomic, Region, Call, Dependent, Forms or Messages.
func (m *Model) check() error {
	if len(m.Levels) == 0 || len(m.Gathers) == 0 || m.Threads < 1 {
		return errors.New("the machine model in the cache lacks cache levels, indexed reads or threads" + again)
	}
	for _, x := range []float64{m.Branch, m.Segment, m.Compile, m.Files.Load, m.Files.Parse,
		m.Files.Store} {
		if !(x > 0) {
			return errors.New("the machine model in the cache is incomplete" + again)
		}
	}
	for _, g := range m.Gathers {
		for _, x := range []float64{g.Values.One, g.Values.All, g.Rows.One, g.Rows.All} {
			if !(x > 0) || g.Bytes <= 0 {
				return errors.New("the machine model in the cache lacks the rates of indexed reads" + again)
			}
		}
	}
	for _, l := range m.Levels {
		for _, x := range []float64{l.Read.One, l.Read.All, l.Write.One, l.Write.All,
			m.MultiplyAdds64.One, m.MultiplyAdds64.All, m.MultiplyAdds32.One,
			m.MultiplyAdds32.All} {
			if !(x > 0) {
				return fmt.Errorf(
					"the machine model in the cache lacks a rate of %s%s", l.Name, again)
			}
		}
	}
	if list := m.impossible(); len(list) > 0 {
		return fmt.Errorf("the machine model in the cache has an impossible value: %s%s",
			list[0].why, again)
	}
	return nil
}
