package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/io/tensor"
)

// fileProgram is a random job file: declared tensors, and statements, prints, placements and
// repeats.
type fileProgram struct {
	ranks, repeat  int
	compile, check bool   // compile leaves and do not interpret them; use --check
	target         string // the job's target, if there are GPUs; otherwise ""
	machine        bool
	params         [][3]string // name, number in the file, and number of -D or ""
	tensors        []*fileTensor
	items          []*fileItem

	// The method follow sets the expected results:
	says  []string // printed lines; "..." at the end of a line matches any text
	ended bool     // a repeat whose condition was not met ends the job
	left  string   // while a break or a continue ends a pass: its keyword
	state map[string]*Tensor
	runs  int
}

// fileTensor is a declared tensor.
type fileTensor struct {
	*Tensor
	// the extension of its input file, "number" if a scalar has a value, or ""
	file  string
	as    tensor.Format // the format in its .tcs file
	sizes []string      // the sizes in the declaration
	text  string        // the rest of the declaration: levels and type
	own   bool          // its format is the format of its file
	place string
	to    bool // its declaration has an output file
}

// fileItem is an item of the file, or of the block of a repeat or an if.
type fileItem struct {
	op     string // do, print, place, repeat, if, break, continue
	stmt   string
	text   string // the statement in the file, with params
	splits []string
	on     string // do: the target in the statement's on clause
	name   string
	mode   int
	n      int
	count  string    // the text of n in the file
	until  *fileCond // the condition of a repeat, an if, a break or a continue
	fail   bool
	body   []*fileItem
	other  []*fileItem // if: the items after else
}

// fileCond is the condition of an item. x and y are expressions with scalar values.
type fileCond struct{ x, op, y string }

func (c *fileCond) String() string { return c.x + " " + c.op + " " + c.y }

// line returns the declaration of the tensor.
func (t *fileTensor) line() string {
	text := "tensor " + t.Name
	if len(t.sizes) > 0 {
		text += "(" + strings.Join(t.sizes, ", ") + ")"
	}
	text += t.text
	if t.place != "" {
		text += " place " + t.place
	}
	switch t.file {
	case "":
	case "number":
		text += " from " + numberText(t.Type, t.Entries[0])
	default:
		text += fmt.Sprintf(" from %q", t.Name+t.file)
	}
	if t.to {
		text += fmt.Sprintf(" to %q", "out-"+t.Name+".tcs")
	}
	return text
}

// numberText formats a scalar's value in the syntax of job files.
func numberText(t tensor.Type, e Entry) string {
	if t.IsComplex() {
		return fmt.Sprintf("%g%+gi", real(e.Value.C), imag(e.Value.C))
	}
	return formatValue(t, e.Value)
}

// String returns the text of the job file.
func (c *fileProgram) String() string {
	var b strings.Builder
	for _, p := range c.params {
		fmt.Fprintf(&b, "param %s = %s\n", p[0], p[1])
	}
	if c.machine {
		b.WriteString("machine M(p)\n")
	}
	for _, t := range c.tensors {
		b.WriteString(t.line() + "\n")
	}
	for _, it := range c.items {
		it.write(&b, "")
	}
	return b.String()
}

func (it *fileItem) write(b *strings.Builder, indent string) {
	switch it.op {
	case "do":
		b.WriteString(indent + it.text + "\n")
		for _, s := range it.splits {
			b.WriteString(indent + "    split " + s + "\n")
		}
		if it.on != "" {
			b.WriteString(indent + "    on " + it.on + "\n")
		}
	case "print":
		b.WriteString(indent + "print " + it.name + "\n")
	case "place":
		b.WriteString(indent + "place " + it.name + " " + it.placement() + "\n")
	case "repeat":
		b.WriteString(indent + "repeat " + it.count)
		if it.until != nil {
			b.WriteString(" until " + it.until.String())
		}
		if it.fail {
			b.WriteString(" or fail")
		}
		b.WriteString(" {\n")
		for _, x := range it.body {
			x.write(b, indent+"  ")
		}
		b.WriteString(indent + "}\n")
	case "if":
		b.WriteString(indent + "if " + it.until.String() + " {\n")
		for _, x := range it.body {
			x.write(b, indent+"  ")
		}
		if len(it.other) > 0 {
			b.WriteString(indent + "} else {\n")
		}
		for _, x := range it.other {
			x.write(b, indent+"  ")
		}
		b.WriteString(indent + "}\n")
	case "break", "continue":
		b.WriteString(indent + it.op + " if " + it.until.String() + "\n")
	}
}

// placement returns the placement of the item. it.splits has the names of the tensor's modes.
func (it *fileItem) placement() string { return placementText(it.splits, it.mode) }

// placementText returns a placement that cuts a mode of a tensor, or replicates the tensor. modes
// has the names of its modes.
func placementText(modes []string, mode int) string {
	to := "*"
	if mode >= 0 {
		to = modes[mode]
	}
	return "(" + strings.Join(modes, ",") + ") -> M(" + to + ")"
}

// world returns the state before the first item.
func (c *fileProgram) world() *world {
	w := newWorld()
	for _, t := range c.tensors {
		w.tensors[t.Name] = t.Tensor
		w.sized[t.Name] = true
	}
	return w
}

// clone returns a copy that can change independently.
func (w *world) clone() *world {
	return &world{tensors: maps.Clone(w.tensors), sized: maps.Clone(w.sized),
		moved: maps.Clone(w.moved), direct: maps.Clone(w.direct), broken: maps.Clone(w.broken),
		prepared: maps.Clone(w.prepared)}
}

// follow computes the lines and files that the job must write. It returns an error if the job is
// not valid.
func (c *fileProgram) follow() error {
	w := c.world()
	c.says, c.ended, c.runs, c.left = nil, false, 0, ""
	_, err := c.all(w, c.items)
	c.state = map[string]*Tensor{}
	for _, name := range w.valued() {
		c.state[name] = w.tensors[name]
	}
	return err
}

// all computes the effect of items on the world. It returns false if a repeat ends the job.
func (c *fileProgram) all(w *world, items []*fileItem) (bool, error) {
	for _, it := range items {
		if on, err := c.item(w, it); err != nil || !on || c.left != "" {
			return on, err
		}
	}
	return true, nil
}

func (c *fileProgram) item(w *world, it *fileItem) (bool, error) {
	switch it.op {
	case "do":
		c.runs++
		s := &progStep{op: "do", stmt: it.stmt}
		if err := w.take(s); err != nil {
			return false, err
		}
		w.sized[s.left] = true // a temporary keeps the sizes of its first statement
		return true, nil
	case "print", "place":
		t := w.tensors[it.name]
		if t == nil || !t.Input {
			return false, fmt.Errorf("%s has no value", it.name)
		}
		if it.op == "print" {
			c.says = append(c.says, summaryOf(t))
		}
		return true, nil
	case "if", "break", "continue":
		met, err := it.until.holds(w)
		switch {
		case err != nil:
			return false, err
		case it.op != "if":
			if met {
				c.left = it.op
			}
			return true, nil
		case met:
			return c.all(w, it.body)
		}
		return c.all(w, it.other)
	}
	for range it.n {
		if on, err := c.all(w, it.body); err != nil || !on {
			return on, err
		}
		left := c.left
		if c.left = ""; left == "break" {
			return true, nil
		}
		if it.until == nil {
			continue
		}
		if met, err := it.until.holds(w); err != nil || met {
			return true, err
		}
	}
	c.ended = it.fail
	return !c.ended, nil
}

// holds evaluates a condition with the reference evaluator.
func (c *fileCond) holds(w *world) (bool, error) {
	var sides [2]complex128
	ordered := true
	for k, text := range []string{c.x, c.y} {
		p, want, err := w.assign("condition_ = " + text)
		if err != nil {
			return false, err
		}
		ordered = ordered && !p.Result.IsComplex()
		if len(want.Points) > 0 {
			if v := want.Points[0].Value; p.Result.HoldsInts() {
				sides[k] = complex(float64(v.I), 0)
			} else {
				sides[k] = v.C
			}
		}
	}
	x, y := real(sides[0]), real(sides[1])
	switch c.op {
	case "==":
		return sides[0] == sides[1], nil
	case "!=":
		return sides[0] != sides[1], nil
	}
	if !ordered {
		return false, fmt.Errorf("complex numbers have no order")
	}
	return map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[c.op], nil
}

// summaryOf returns the line that a print of a tensor must write.
func summaryOf(t *Tensor) string {
	if len(t.Dims) == 0 {
		return t.Name + " = " + typed(t.Type, t.Entries[0].Value).Text()
	}
	var dims []string
	for _, d := range t.Dims {
		dims = append(dims, fmt.Sprint(d))
	}
	text := fmt.Sprintf("%s: %s, %s, %s, ", t.Name, strings.Join(dims, "x"), t.Format, t.Type)
	want := (&Case{Stmt: "R = 1", Tensors: []*Tensor{t}}).whole(t.Name)
	if want == nil {
		return text + "..."
	}
	sum := tensor.Value{Type: tensor.Float64}
	for _, p := range want.Points {
		sum.I, sum.C = sum.I+p.Value.I, sum.C+p.Value.C
	}
	switch {
	case t.Type.HoldsInts():
		sum.Type = tensor.Int64
	case t.Type.IsComplex():
		sum.Type = tensor.Complex128
	}
	return text + tensor.Count(int64(len(storedCoords(t.Format, t.Dims, want.Coords))),
		"entry") + ", sum " + sum.Text()
}

// types returns the types of declared tensors that have inputs.
func (c *fileProgram) types() map[string]tensor.Type {
	known := map[string]tensor.Type{}
	for _, t := range c.tensors {
		if t.Input {
			known[t.Name] = t.Type
		}
	}
	return known
}

// declared returns the declaration of a tensor, or nil if it is a temporary.
func (c *fileProgram) declared(name string) *fileTensor {
	k := slices.IndexFunc(c.tensors, func(t *fileTensor) bool { return t.Name == name })
	if k < 0 {
		return nil
	}
	return c.tensors[k]
}

// modeNames returns names for the modes of a tensor.
func modeNames(order int) []string {
	return []string{"x", "y", "z"}[:order]
}
