package prepared

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/forms"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Code is the compiled code of a statement: a leaf for each group of terms, and other leaves that
// work on blocks of the result.
type Code struct {
	p *Planned

	AddsInPlace bool      // whether every step can add to a block in place
	leaves      []*leaf   // one for each group of terms
	sum         *leaf     // adds two sparse blocks, P + Q; nil if none are added
	old         *leaf     // converts blocks of Problem.Added; nil if there are none
	forms       forms.Set // forms of code that leaves are compiled in
	pattern     *pattern  // set if Options.FixedPattern is; otherwise nil
}

// compileGroups compiles the units of all groups, and sets c.AddsInPlace. If accumulates returns
// true, it first asks the compiler for units that add to an existing result. If not every step can
// add in place (see canAddInPlace), it compiles all units again without this request. like holds
// the specification of each operand. Every rank must call it.
func (c *Code) compileGroups(like map[string]codegen.Tensor) error {
	several, err := c.p.accumulates()
	if err != nil {
		return err
	}
	if _, c.AddsInPlace, err = c.Units(like, several); err == nil && several && !c.AddsInPlace {
		err = c.compileUnits(like, false)
	}
	return err
}

// Units compiles and returns the units of the statement's groups. like holds the specification of
// each operand. several says that several steps add to one block. Units then asks the compiler for
// units that add to an existing result. inPlace reports whether several is true and every step can
// add in place (see canAddInPlace). Every rank must call it.
func (c *Code) Units(like map[string]codegen.Tensor, several bool) (units []*codegen.Unit,
	inPlace bool, err error) {
	err = c.compileUnits(like, several)
	return c.GroupUnits(), err == nil && several && c.canAddInPlace(), err
}

// GroupUnits returns the units of the groups that have been compiled.
func (c *Code) GroupUnits() (units []*codegen.Unit) {
	for _, s := range c.leaves {
		units = append(units, s.unit)
	}
	return units
}

// Leaves returns the units of the groups' leaves and of the leaf that adds two blocks, if there is
// one. It builds no leaf. like holds the specification of each operand. Every rank must call it.
func (c *Code) Leaves(like map[string]codegen.Tensor) ([]*codegen.Unit, error) {
	if err := c.OnTarget(func() error { return c.compileAll(like) }); err != nil {
		return nil, err
	}
	units := c.GroupUnits()
	sum, err := c.SumUnit()
	if err == nil && sum != nil {
		units = append(units, sum)
	}
	return units, err
}

// compileUnits compiles the units of all groups. If into is true, it asks for leaves that add to an
// existing result. Every rank must call it.
func (c *Code) compileUnits(like map[string]codegen.Tensor, into bool) (err error) {
	if c.forms, err = c.p.Reader.Env.Forms(); err != nil {
		return err
	}
	if err := c.p.checkCommands(); err != nil {
		return c.errorOfAllTerms(like, err)
	}
	c.leaves = nil
	var refused error
	networks := 0 // groups that follow the user's --network
	groups := c.p.Problem.Blocking.Groups
	for _, g := range groups {
		s := newLeaf(c.p, c.forms, like)
		s.accumulate, s.norm = into, c.p.part(g.Terms)
		s.inPlace = c.p.oldOperand()
		if list, given := c.p.Problem.LeafSchedule(); given {
			s.useSchedule(list, g.Terms)
		} else {
			s.useDefaultSchedule()
		}
		if c.pattern != nil {
			s.fixedPattern, s.widths = c.pattern.values, c.pattern.widths
		} else if len(c.leaves) > 0 { // all groups' blocks are added, so they need equal widths
			s.widths = &c.leaves[0].unit.Result
		}
		err := s.compile()
		if networkRefused(err) && network.IsTree(c.p.Options.Network) && len(groups) > 1 {
			refused, s.otherTree = err, true // the tree belongs to another term
			err = s.compile()
		} else {
			networks++
		}
		if err != nil {
			return c.errorOfAllTerms(like, err)
		}
		if s.schedule != nil && s.hasLongEmptyLoops() {
			s.useDefaultSchedule()
			if err := s.compile(); err != nil {
				return err
			}
		}
		if len(c.leaves) == 0 {
			if err := c.widen(s); err != nil {
				return err
			}
		}
		c.leaves = append(c.leaves, s)
	}
	if networks == 0 {
		return c.errorOfAllTerms(like, refused)
	}
	return nil
}

// networkRefused reports whether err says that the value of --network cannot be used.
func networkRefused(err error) bool {
	var d *diag.Error
	return errors.As(err, &d) && d.Code == diag.NetworkRefused
}

// errorOfAllTerms replaces err, an error of a command or of one group's leaf, by an error in terms
// of the user's whole statement. To get this error, it compiles one leaf of all terms. It returns
// err if there is only one group, or if the leaf of all terms compiles.
func (c *Code) errorOfAllTerms(like map[string]codegen.Tensor, err error) error {
	if len(c.p.Problem.Blocking.Groups) == 1 {
		return err
	}
	s := newLeaf(c.p, c.forms, like)
	s.norm = c.p.Problem.Norm
	if list, given := c.p.Problem.LeafSchedule(); given {
		s.schedule = list
	}
	return cmp.Or(s.compile(), err)
}

// widen checks leaf s, the leaf of the first group. If the arrays of the leaf's result are too
// narrow for a sum of blocks, widen compiles the leaf again with wider arrays. Such a sum may have
// more entries than the result of one call (see sumWidths).
func (c *Code) widen(s *leaf) error {
	r := s.unit.Result
	summed := slices.ContainsFunc(c.p.Problem.Blocking.Vars,
		func(b place.BlockVar) bool { return b.Reduction })
	if c.p.Problem.Whole || r.Format.AllDense() ||
		!summed && len(c.p.Problem.Blocking.Groups) == 1 && c.p.Problem.Assembled == nil {
		return nil
	}
	pos, crd := c.sumWidths(s.operands)
	for l := range pos {
		pos[l], crd[l] = max(pos[l], r.PosWidth[l]), max(crd[l], r.CrdWidth[l])
	}
	if slices.Equal(pos, r.PosWidth) && slices.Equal(crd, r.CrdWidth) {
		return nil
	}
	s.widths = &codegen.Result{PosWidth: pos, CrdWidth: crd}
	return s.compile()
}

// sumWidths returns the widths in bytes that arrays need in a sum of all blocks of the result. pos
// holds the widths of positions, and crd the widths of coordinates, by level. like holds the
// specification of each operand.
func (c *Code) sumWidths(like map[string]codegen.Tensor) (pos, crd []uint8) {
	all := newLeaf(c.p, c.forms, like)
	all.norm = c.p.Problem.Summed()
	return codegen.Widths(all.request())
}

// SumUnit compiles the unit that adds two sparse blocks of the result. It returns nil if blocks are
// never added, or are dense. It must be called after Units.
func (c *Code) SumUnit() (*codegen.Unit, error) {
	s, err := c.compileSum()
	if err != nil || s == nil {
		return nil, err
	}
	return s.unit, nil
}

// compileSum compiles the leaf that adds two sparse blocks of the result, and stores it in c.sum.
// It stores nil if blocks are never added, or are dense.
func (c *Code) compileSum() (*leaf, error) {
	c.sum = nil
	result := c.leaves[0].unit.Result
	if !c.p.Problem.AddsBlocks() || result.Format.AllDense() { // dense blocks are added in place
		return nil, nil
	}
	vars := c.p.Parsed.Stmt.LHS.Vars
	stmt := &notation.Stmt{
		LHS: &notation.Access{Name: "S", Vars: vars},
		RHS: &notation.Binary{Op: '+', X: &notation.Access{Name: "P", Vars: vars},
			Y: &notation.Access{Name: "Q", Vars: vars}},
	}
	stmt.Src = stmt.String()
	like := codegen.Tensor{Format: result.Format, Type: c.p.Reader.ResultType,
		Dims:     c.p.Reader.Sizes.Dims[c.p.Parsed.Result],
		PosWidth: result.PosWidth, CrdWidth: result.CrdWidth, NNZ: -1}
	c.sum = newLeaf(c.p, c.forms, map[string]codegen.Tensor{"P": like, "Q": like})
	c.sum.stmt, c.sum.format, c.sum.widths = stmt, result.Format, &result
	return c.sum, c.sum.compile()
}

// compileOld compiles a leaf that converts the old value of a += to the format of the blocks that
// steps make, and stores it in c.old. It returns nil if Problem.Added is nil.
func (c *Code) compileOld() (*leaf, error) {
	if c.p.Problem.Added == nil {
		return nil, nil
	}
	first := c.leaves[0]
	c.old = newLeaf(c.p, c.forms, first.operands)
	norm := *c.p.Problem.Norm
	norm.Terms = []*notation.Term{c.p.Problem.Added.Term}
	c.old.norm, c.old.format, c.old.widths = &norm, first.unit.Result.Format, &first.unit.Result
	return c.old, c.old.compile()
}

// CompileAlone compiles the statement as one unit on whole tensors, and builds no leaf. like holds
// the specification of each operand.
//
// name is the name of the leaf's function. If it is "" the compiler chooses one, and may use the
// sizes of short dense loops as constants. The unit's result has the requested type, and the leaf
// converts integers to it as C does.
func (c *Code) CompileAlone(like map[string]codegen.Tensor, name string) (*codegen.Unit, error) {
	var err error
	if c.forms, err = c.p.Reader.Env.Forms(); err != nil {
		return nil, err
	}
	s := newLeaf(c.p, c.forms, like)
	s.name, s.typ = name, c.p.Reader.Types[c.p.Parsed.Result]
	if list, given := c.p.Problem.LeafSchedule(); given {
		s.schedule = list
	}
	if name == "" { // a named leaf is for callers with any sizes
		s.exact = c.p.Parsed.Norm.Vars
	}
	err = c.OnTarget(s.compile)
	return s.unit, err
}

// load builds and loads the leaves of all groups, and prints the compiler's notes. Every rank must
// call it.
func (c *Code) load() error {
	env := c.p.Reader.Env
	for _, s := range c.leaves {
		if err := s.load(); err != nil {
			return err
		}
		if env.Root() {
			for _, n := range s.unit.Notes {
				env.Note(c.userNote(n))
			}
		}
	}
	return nil
}

// userNote returns a note of the compiler with the names of operands replaced by the names of their
// tensors.
func (c *Code) userNote(note string) string {
	words := strings.Split(note, " ")
	for i, w := range words {
		for _, o := range c.p.Problem.Operands {
			if w == o.Name {
				words[i] = o.Tensor
			}
		}
	}
	return strings.Join(words, " ")
}

// loadOthers compiles and loads the leaves that work on blocks of the result, if they are needed.
// Every rank must call it.
func (c *Code) loadOthers() error {
	for _, compile := range []func() (*leaf, error){c.compileOld, c.compileSum} {
		s, err := compile()
		if err == nil && s != nil {
			err = s.load()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close releases all leaves, and the tensors of the pattern.
func (c *Code) close() {
	for _, s := range append(c.leaves, c.sum, c.old) {
		s.close()
	}
	c.pattern.close()
}

// Compiler returns the name of the backend that built the leaves.
func (c *Code) Compiler() string { return c.leaves[0].compiler }

// allInPlace reports whether the leaf of every rank writes over the old value. A built-in leaf that
// replaces a compiled leaf writes to other memory, so the ranks may differ. Every rank must call
// it.
func (c *Code) allInPlace() (bool, error) {
	n := c.leaves[0].unit.Result.InPlace
	if c.p.Problem.Whole || c.p.oldOperand() == "" {
		return n > 0, nil
	}
	all := []int64{int64(n)}
	err := c.p.Reader.Env.Comm.Uncounted().Allreduce(comm.Of(all), comm.Min)
	return all[0] > 0, err
}

// isOnlyWriter reports whether the leaf's result is final, so that nothing else writes or reads it
// during the run. The result is not final in each of these cases:
//   - It goes to a tensor of the caller.
//   - Its values are narrowed, or its positions may be narrowed.
//   - Its levels are repacked.
//   - It moves to a placement.
//   - The ranks of a OneStep add their parts.
//
// isOnlyWriter does not look at the sums and messages of package exec (see Problem.StaysAt).
func (c *Code) isOnlyWriter() bool {
	u := c.leaves[0].unit.Result
	if u.Repack || c.pattern != nil || c.p.needsNarrowing() || c.p.OneStep.IsSum() ||
		c.p.PlacementPieces(c.p.Problem.ResultHome) != nil {
		return false
	}
	return u.Shares >= 0 || !slices.ContainsFunc(u.PosWidth, func(w uint8) bool { return w > 4 })
}

// resultIsStored reports whether the result's blocks have the requested format. If they do not,
// they have a format that leaves can write, and are converted when they are read.
func (c *Code) resultIsStored() bool {
	return c.p.Problem.Whole || !c.leaves[0].unit.Result.Repack
}

// fits reports whether the leaves can run with new operands. like holds the specifications of the
// operands. The positions of the result must be wide enough. The arrays of converted operands must
// keep their widths: fits returns false if an operand has more than 2^31-1 entries and had fewer
// before, or the reverse. The caller must check that the operands' own arrays have the widths that
// the leaves read.
func (c *Code) fits(like map[string]codegen.Tensor) bool {
	more := false // than 32 bits can count
	for name, t := range like {
		was := c.leaves[0].operands[name]
		more = more || t.NNZ > was.NNZ
		if (t.NNZ > math.MaxInt32) != (was.NNZ > math.MaxInt32) { // widths of converted arrays
			return false
		}
	}
	r := c.leaves[0].unit.Result
	if !more || r.Format.AllDense() || r.Shares >= 0 {
		return true
	}
	pos, _ := c.sumWidths(like)
	for l := range pos {
		if pos[l] > r.PosWidth[l] {
			return false
		}
	}
	return true
}

// add adds two partial blocks and returns the sum. Dense blocks have the same coordinates, so it
// adds b to a in place.
func (c *Code) add(a, b *tcs.Tensor) (*tcs.Tensor, error) {
	if c.sum == nil {
		reduce.AddDense(a, b, c.p.Reader.Env.Threads)
		return a, nil
	}
	box := make([][2]int64, a.Order())
	for m := range box {
		box[m] = a.Header.Range(m)
	}
	return c.sum.once(map[string]*tcs.Tensor{"P": a, "Q": b}, c.sum.stmt.LHS.Vars, box)
}

// convertOld converts a block of the old value of a += to the format of the blocks that steps make.
func (c *Code) convertOld(b plan.Block, t *tcs.Tensor) (*tcs.Tensor, error) {
	o := &c.p.Problem.Operands[c.p.Problem.Added.Operand]
	return c.old.once(map[string]*tcs.Tensor{o.Name: t}, o.Vars, o.Partition.Box(b, c.old.dims))
}
