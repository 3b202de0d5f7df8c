package prepared

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/kernels"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
)

// Compile compiles and loads a leaf for each group of terms, and the leaf that adds two blocks.
// Every rank must call it.
func (k *Statement) Compile() error {
	if k.o.FixedPattern != nil {
		if err := k.readyInto(); err != nil {
			return err
		}
	}
	inPlace, err := k.compileGroups()
	if err != nil {
		return err
	}
	if err := k.Refused(nil); err != nil {
		return err
	}
	for _, s := range k.leaves {
		if err := s.load(); err != nil {
			return err
		}
		k.closers = append(k.closers, func() error { s.close(); return nil })
		if k.Reader.Env.Root() {
			for _, n := range s.unit.Notes {
				k.Reader.Env.Note(k.userNote(n))
			}
		}
	}
	if k.overwrites, err = k.allInPlace(); err != nil {
		return err
	}
	result := k.leaves[0].unit.Result
	k.exec.Result = k.likeOf(k.p.Result, result.Format)
	k.exec.Result.Layout.Type = k.Reader.ResultType
	if k.exec.Adds = inPlace; !result.Format.AllDense() {
		k.accumulate()
	}
	if k.Near() && (!result.Format.AllDense() || result.Repack) {
		k.oneStep = nil
	}
	for i := range k.Problem.Operands {
		k.keep(i)
	}
	if k.Problem.Whole {
		if k.into != nil {
			k.bound.ready = false // it was bound to a leaf that was compiled before
		}
		return k.bind()
	}
	if err := k.compileAdded(); err != nil {
		return err
	}
	return k.loadSum()
}

// compileGroups compiles the units of all groups. If it is useful that units add to an existing
// result (see accumulates), it first asks the compiler for such units. If some unit cannot add, it
// compiles all units again, and then none of them adds. inPlace reports whether the units add.
// Every rank must call it.
func (k *Statement) compileGroups() (inPlace bool, err error) {
	like, err := k.operandSpecs()
	if err != nil {
		return false, err
	}
	several, err := k.accumulates()
	if err != nil {
		return false, err
	}
	if err := k.compileUnits(like, several); err != nil || !several || k.inPlace() {
		return several, err
	}
	return false, k.compileUnits(like, false)
}

// Units compiles the units of the statement's groups. like holds the specification of each operand.
// If several is true, several steps add to one block, and Units asks for units that can do so.
// inPlace reports whether all units can. Every rank must call it.
func (k *Statement) Units(like map[string]codegen.Tensor, several bool) (units []*codegen.Unit,
	inPlace bool, err error) {
	err = k.compileUnits(like, several)
	for _, s := range k.leaves {
		units = append(units, s.unit)
	}
	return units, err == nil && several && k.inPlace(), err
}

// Leaves returns the units of the groups' leaves and of the leaf that adds two blocks, as Compile
// would make them, and builds no leaf. like holds the specification of each operand. Every rank
// must call it.
func (k *Statement) Leaves(like map[string]codegen.Tensor) ([]*codegen.Unit, error) {
	several, err := k.accumulates()
	if err != nil {
		return nil, err
	}
	units, inPlace, err := k.Units(like, several)
	if err == nil && several && !inPlace {
		units, _, err = k.Units(like, false)
	}
	if err != nil {
		return nil, err
	}
	sum, err := k.SumUnit()
	if err == nil && sum != nil {
		units = append(units, sum)
	}
	return units, err
}

// compileUnits compiles the units of all groups. If into is true, it asks for leaves that add to an
// existing result. Every rank must call it.
func (k *Statement) compileUnits(like map[string]codegen.Tensor, into bool) (err error) {
	if k.forms, err = k.Reader.Env.Forms(); err != nil {
		return err
	}
	if err := k.checkCommands(); err != nil {
		return k.errorOfAllTerms(like, err)
	}
	k.leaves = nil
	var refused error
	networks := 0 // groups that follow the user's --network
	for _, g := range k.Problem.Blocking.Groups {
		s := k.leafOf(like)
		s.accumulate, s.norm = into, k.part(g.Terms)
		s.inPlace = k.oldOperand()
		if list, given := k.Problem.LeafSchedule(); given {
			k.useSchedule(s, list, g.Terms)
		} else {
			k.useDefaultSchedule(s)
		}
		if k.into != nil {
			s.fixedPattern, s.widths = k.into.values, k.into.widths
		} else if len(k.leaves) > 0 { // all groups' blocks are added, so they need equal widths
			s.widths = &k.leaves[0].unit.Result
		}
		err := s.compile()
		if networkRefused(err) && network.IsTree(k.o.Network) && len(k.Problem.Blocking.Groups) > 1 {
			refused, s.otherTree = err, true // the tree belongs to another term
			err = s.compile()
		} else {
			networks++
		}
		if err != nil {
			return k.errorOfAllTerms(like, err)
		}
		if s.schedule != nil && s.hasLongEmptyLoops() {
			k.useDefaultSchedule(s)
			if err := s.compile(); err != nil {
				return err
			}
		}
		if len(k.leaves) == 0 {
			if err := k.widen(s); err != nil {
				return err
			}
		}
		k.leaves = append(k.leaves, s)
	}
	if networks == 0 {
		return k.errorOfAllTerms(like, refused)
	}
	return nil
}

// networkRefused reports whether err says that the value of --network cannot be used.
func networkRefused(err error) bool {
	var d *diag.Error
	return errors.As(err, &d) && d.Code == diag.NetworkRefused
}

// errorOfAllTerms replaces err, the error of compiling one group's leaf, by an error in terms of
// the user's whole statement. To get this error, it compiles one leaf of all terms, as for one
// rank. It returns err if there is only one group, or if the leaf of all terms compiles.
func (k *Statement) errorOfAllTerms(like map[string]codegen.Tensor, err error) error {
	if len(k.Problem.Blocking.Groups) == 1 {
		return err
	}
	s := k.leafOf(like)
	s.norm = k.Problem.Norm
	if list, given := k.Problem.LeafSchedule(); given {
		s.schedule = list
	}
	return cmp.Or(s.compile(), err)
}

// part returns the normal form of the given terms, or nil if they are the whole statement.
func (k *Statement) part(terms []int) *notation.Normal {
	if k.isAsWritten(terms) {
		return nil
	}
	part := *k.Problem.Norm
	part.Terms = nil
	for _, t := range terms {
		part.Terms = append(part.Terms, k.Problem.Norm.Terms[t])
	}
	return &part
}

// widen compiles leaf s, the leaf of the first group, again if the arrays of its result are too
// narrow for a sum of blocks. Such a sum has the entries of all steps and groups. The compiler
// chose the widths only for the entries of the leaf's own terms. If the result shares the level
// arrays of an operand's block, it even has the widths of these arrays.
func (k *Statement) widen(s *leaf) error {
	r := s.unit.Result
	summed := slices.ContainsFunc(k.Problem.Blocking.Vars,
		func(b place.BlockVar) bool { return b.Reduction })
	if k.Problem.Whole || r.Format.AllDense() ||
		!summed && len(k.Problem.Blocking.Groups) == 1 && k.Problem.Assembled == nil {
		return nil
	}
	all := k.leafOf(s.operands)
	all.norm = k.Problem.Summed()
	pos, crd, err := codegen.Widths(all.request())
	if err != nil {
		return err
	}
	for l := range pos {
		pos[l], crd[l] = max(pos[l], r.PosWidth[l]), max(crd[l], r.CrdWidth[l])
	}
	if slices.Equal(pos, r.PosWidth) && slices.Equal(crd, r.CrdWidth) {
		return nil
	}
	s.widths = &codegen.Result{PosWidth: pos, CrdWidth: crd}
	return s.compile()
}

// isAsWritten reports whether a leaf of the given terms computes exactly the statement that the
// user wrote. This is so if the terms are all terms, the old value is not added, and every operand
// still has the name of its tensor. It is always so if one rank runs the whole statement.
func (k *Statement) isAsWritten(terms []int) bool {
	return k.Problem.Whole || len(terms) == len(k.Problem.Norm.Terms) && !k.p.Norm.Accumulate &&
		!slices.ContainsFunc(k.Problem.Operands,
			func(o plan.Operand) bool { return o.Name != o.Tensor })
}

// useDefaultSchedule lets the compiler choose the schedule of leaf s. The compiler may then use the
// sizes of variables that are not cut. A term with an empty index space adds nothing, and so the
// leaf omits such a term if its loops would be long.
func (k *Statement) useDefaultSchedule(s *leaf) {
	s.schedule, s.elsewhere, s.parts, s.exact = nil, nil, nil, k.uncut()
	if n := s.normal(); k.withoutEmptyTerms(n, n.Accumulate && s.old != nil) != n {
		s.norm = k.withoutEmptyTerms(n, n.Accumulate && s.old != nil)
	}
}

// useSchedule gives leaf s the user's schedule list. terms are the terms of the leaf's group;
// commands that do not apply to them will be ignored. If no command applies, the leaf gets the
// default schedule. The commands order the loops inside a block.
func (k *Statement) useSchedule(s *leaf, list []string, terms []int) {
	elsewhere := k.elsewhere(terms)
	commands, err := schedule.Parse(list)
	if err == nil && len(commands) > 0 && len(schedule.Part(commands, elsewhere)) == 0 {
		k.useDefaultSchedule(s)
		return
	}
	s.schedule, s.elsewhere = list, elsewhere
	if !k.Problem.Whole {
		s.parts = k.Problem.Blocking.Splits()
	}
}

// checkCommands returns an error if a command of the user's schedule applies to no group of terms:
// the names in the command do not occur together in any group.
func (k *Statement) checkCommands() error {
	list, given := k.Problem.LeafSchedule()
	commands, err := schedule.Parse(list)
	if err != nil || !given {
		return nil // compiling a leaf reports the error
	}
	heard := map[*schedule.Command]bool{}
	for _, g := range k.Problem.Blocking.Groups {
		for _, c := range schedule.Part(commands, k.elsewhere(g.Terms)) {
			heard[c.Of()] = true
		}
	}
	for _, c := range commands {
		if !heard[c] {
			return k.Problem.AsWritten(c.Refuse(c.Name + ": the terms with these variables are " +
				"summed separately, each in its own loops"))
		}
	}
	return nil
}

// elsewhere returns the variables of the normal form, and the user's names of tensors, that occur
// in the statement but not in the given terms.
func (k *Statement) elsewhere(terms []int) (names []string) {
	if k.Problem.Whole {
		return nil
	}
	here, user := map[string]bool{k.p.Result: true}, k.userNames()
	for _, v := range k.p.Stmt.LHS.Vars {
		here[v] = true
	}
	for n, t := range k.Problem.Norm.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			if a, ok := e.(*notation.Access); ok {
				for _, name := range append([]string{cmp.Or(user[a.Name], a.Name)}, a.Vars...) {
					if names = append(names, name); slices.Contains(terms, n) {
						here[name] = true
					}
				}
			}
			return true
		})
	}
	return slices.DeleteFunc(names, func(name string) bool { return here[name] })
}

// userNames maps each operand's name in the normal form to the name that the user wrote.
func (k *Statement) userNames() map[string]string {
	names := map[string]string{}
	for _, o := range k.Problem.Operands {
		if names[o.Name] = o.Tensor; o.Tensor == k.p.Old {
			names[o.Name] = k.p.Result
		}
	}
	return names
}

// uncut lists the variables that are not cut.
func (k *Statement) uncut() []string {
	cut := k.Problem.Blocking.Splits()
	return slices.DeleteFunc(slices.Clone(k.Problem.Norm.Vars),
		func(v string) bool { return slices.Contains(cut, v) })
}

// userNote returns a note of the compiler with the names of operands replaced by the names of their
// tensors.
func (k *Statement) userNote(note string) string {
	words := strings.Split(note, " ")
	for i, w := range words {
		for _, o := range k.Problem.Operands {
			if w == o.Name {
				words[i] = o.Tensor
			}
		}
	}
	return strings.Join(words, " ")
}

// SumUnit compiles the unit that adds two sparse blocks of the result. It returns nil if blocks are
// never added, or are dense. It must be called after Units.
func (k *Statement) SumUnit() (*codegen.Unit, error) {
	if err := k.compileSum(); err != nil || k.sum == nil {
		return nil, err
	}
	return k.sum.unit, nil
}

// compileSum compiles the leaf that adds two sparse blocks of the result, and stores it in k.sum.
// It stores nil if blocks are never added, or are dense.
func (k *Statement) compileSum() error {
	k.sum = nil
	result := k.leaves[0].unit.Result
	if !k.Problem.AddsBlocks() || result.Format.AllDense() { // dense blocks are added in place
		return nil
	}
	vars := k.p.Stmt.LHS.Vars
	stmt := &notation.Stmt{
		LHS: &notation.Access{Name: "S", Vars: vars},
		RHS: &notation.Binary{Op: '+', X: &notation.Access{Name: "P", Vars: vars},
			Y: &notation.Access{Name: "Q", Vars: vars}},
	}
	stmt.Src = stmt.String()
	like := codegen.Tensor{Format: result.Format, Type: k.Reader.ResultType,
		Dims:     k.Reader.Sizes.Dims[k.p.Result],
		PosWidth: result.PosWidth, CrdWidth: result.CrdWidth, NNZ: -1}
	k.sum = k.leafOf(map[string]codegen.Tensor{"P": like, "Q": like})
	k.sum.stmt, k.sum.format, k.sum.widths = stmt, result.Format, &result
	return k.sum.compile()
}

// loadSum compiles and loads the leaf that adds two blocks, if it is needed.
func (k *Statement) loadSum() error {
	if err := k.compileSum(); err != nil || k.sum == nil {
		return err
	}
	k.closers = append(k.closers, func() error { k.sum.close(); return nil })
	return k.sum.load()
}

// compileAdded compiles and loads a leaf that converts the old value of a += to the format of the
// blocks that steps make. It does nothing if steps read the old value themselves.
func (k *Statement) compileAdded() error {
	if k.Problem.Added == nil {
		return nil
	}
	first := k.leaves[0]
	s := k.leafOf(first.operands)
	norm := *k.Problem.Norm
	norm.Terms = []*notation.Term{k.Problem.Added.Term}
	s.norm, s.format, s.widths = &norm, first.unit.Result.Format, &first.unit.Result
	k.old = s
	if err := s.compile(); err != nil {
		return err
	}
	k.closers = append(k.closers, func() error { s.close(); return nil })
	return s.load()
}

// operandSpecs returns the specification of each operand for the compiler, by the operand's name.
// The result is the same at every rank. The width of an array is the width in the operand's widest
// block at any rank. The numbers of entries and positions are sums over all blocks, in which copies
// of a block count once. Every rank must call it.
func (k *Statement) operandSpecs() (map[string]codegen.Tensor, error) {
	out := map[string]codegen.Tensor{}
	for i, o := range k.Problem.Operands {
		f := k.Reader.Formats[o.Tensor]
		n := len(f.Levels)
		// the last count is the number of entries
		widths, counts := make([]int64, 2*n), make([]int64, n+1)
		part := o.Before()
		if k.replicated[i] {
			part = o.Partition
		}
		for b, t := range k.exec.Own[i] {
			once := int64(1)
			if part.OwnerOf(b) != k.Reader.Env.Comm.Rank() {
				once = 0
			}
			counts[n] += once * t.Vals.Len
			for l, lev := range t.Levels {
				counts[l] += once * t.Positions(l)
				widths[2*l] = max(widths[2*l], int64(lev.Pos.Width))
				widths[2*l+1] = max(widths[2*l+1], int64(lev.Crd.Width))
			}
		}
		c := k.Reader.Env.Comm.Uncounted()
		if err := c.Allreduce(comm.Of(widths), comm.Max); err != nil {
			return nil, err
		}
		for _, t := range k.exec.Own[i] {
			for l, lev := range t.Levels {
				if int64(lev.Pos.Width) != widths[2*l] || int64(lev.Crd.Width) != widths[2*l+1] {
					return nil,
						fault.Runf(
							"%s: some ranks have blocks with 32-bit positions and others with "+
								"64-bit ones; use fewer entries in a block", o.Tensor)
				}
			}
		}
		if err := c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return nil, err
		}
		spec := codegen.Tensor{Format: f, Type: k.Reader.Types[o.Tensor],
			Dims: k.Reader.Sizes.Dims[o.Tensor], NNZ: counts[n], Counts: counts[:n]}
		for l := range n {
			spec.PosWidth = append(spec.PosWidth, uint8(widths[2*l]))
			spec.CrdWidth = append(spec.CrdWidth, uint8(widths[2*l+1]))
		}
		out[o.Name] = spec
	}
	return out, nil
}

// CompileAlone compiles the statement as one unit on whole tensors, and builds no leaf. If loaded
// is true it uses the loaded operands, and otherwise the headers of their inputs.
//
// name is the name of the leaf's function. If it is "" the compiler chooses one, and uses the sizes
// of short dense loops as constants. The unit's result has the requested type, and the leaf
// converts integers to it as C does.
func (k *Statement) CompileAlone(loaded bool, name string) (*codegen.Unit, error) {
	like := k.guessSpecs
	if loaded {
		like = k.operandSpecs
	}
	specs, err := like()
	if err != nil {
		return nil, err
	}
	if k.forms, err = k.Reader.Env.Forms(); err != nil {
		return nil, err
	}
	s := k.leafOf(specs)
	s.name, s.typ = name, k.Reader.Types[k.p.Result]
	if list, given := k.Problem.LeafSchedule(); given {
		s.schedule = list
	}
	if name == "" { // a named leaf is for callers with any sizes
		s.exact = k.p.Norm.Vars
	}
	err = s.compile()
	return s.unit, err
}

// guessSpecs returns the specification of each operand for the compiler before operands are loaded.
// It assumes fewer than 2^31 entries. Coordinates have 64 bits if a given size exceeds 2^31-1.
func (k *Statement) guessSpecs() (map[string]codegen.Tensor, error) {
	out := map[string]codegen.Tensor{}
	for _, o := range k.Problem.Operands {
		f := k.Reader.Formats[o.Tensor]
		t := codegen.Tensor{Format: f, Type: k.Reader.Types[o.Tensor],
			Dims: k.Reader.Sizes.Dims[o.Tensor], NNZ: kernels.UnknownSize}
		if o.Tensor == k.p.Result {
			t.NNZ = -1
		}
		t.PosWidth, t.CrdWidth = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
		for l, kind := range f.Levels {
			if kind.HasPos() {
				t.PosWidth[l] = 4
			}
			if kind.HasCrd() {
				t.CrdWidth[l] = 4
				if t.Dims[f.Order[l]] > math.MaxInt32 {
					t.CrdWidth[l] = 8
				}
			}
		}
		out[o.Name] = t
	}
	return out, nil
}
