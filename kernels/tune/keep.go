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

// Version is that of the probes and the model: what an earlier one has kept is of no use.
const Version = "5"

// folder is the models' in the cache, and label what its list calls them.
const folder, label = "machine", "machine model"

// name is the name in the cache of this machine's model: by the kind of its processors and how many
// there are, whatever the process may use of them.
func name() string {
	return cc.Name(label+" "+Version, cc.CPUKind(cc.Native),
		[]string{strconv.Itoa(kernels.HardwareThreads())}, nil)
}

// Keep puts a model into the cache at root, in place of what was there.
func Keep(root string, m *Model) error {
	if root == "" {
		return errors.New("there is no cache: set DISTAFF_CACHE")
	}
	c, err := cc.OpenCache(root, folder)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic("BUG: tune: a model does not marshal: " + err.Error())
	}
	o,
		err := cc.Seal(text, cc.Meta{Label: label, CPU: cc.CPUKind(cc.Native),
		Made: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return c.Put(name(), o)
}

// Kept is the model that the cache at root has of this machine; nil where it has none. The error
// says why what it has is of no use.
func Kept(root string) (*Model, error) {
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
		return nil, fmt.Errorf("the machine model in the cache: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check says what a model lacks that all have.
func (m *Model) check() error {
	if len(m.Levels) == 0 || len(m.Gathers) == 0 || m.Threads < 1 {
		return errors.New("the machine model in the cache has no levels")
	}
	for _, x := range []float64{m.Branch, m.Segment, m.Compile, m.Files.Load, m.Files.Parse,
		m.Files.Store} {
		if !(x > 0) {
			return errors.New("the machine model in the cache is not whole")
		}
	}
	for _, g := range m.Gathers {
		for _, x := range []float64{g.Values.One, g.Values.All, g.Rows.One, g.Rows.All} {
			if !(x > 0) || g.Bytes <= 0 {
				return errors.New("the machine model in the cache has no rate for what is gathered")
			}
		}
	}
	for _, l := range m.Levels {
		for _, x := range []float64{l.Read.One, l.Read.All, l.Write.One, l.Write.All,
			m.MultiplyAdds64.One, m.MultiplyAdds64.All, m.MultiplyAdds32.One, m.MultiplyAdds32.All} {
			if !(x > 0) {
				return fmt.Errorf("the machine model in the cache has no rate for %s", l.Name)
			}
		}
	}
	if list := m.impossible(); len(list) > 0 {
		return fmt.Errorf("the machine model in the cache cannot be: %s", list[0].why)
	}
	return nil
}
