package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"distaff/codegen/cin"
	"distaff/codegen/share"
)

// pass is a step of Compile. needs lists the facts that the pass reads, and gives lists the facts
// that it finds. Only one pass finds each fact. text returns the outcome of the pass as text.
// verify returns an error if the outcome breaks a rule.
type pass struct {
	name   string
	needs  []fact
	gives  []fact
	run    func(*compilation) error
	text   func(*compilation) string
	verify func(*compilation) error
}

// fact is something that a pass finds out about the statement.
type fact string

const (
	normalForm  fact = "the normal form"
	computeType fact = "the type to compute in"
	resultKinds fact = "the levels of the result"
	tensorUses  fact = "the uses of tensors"
	loopOrder   fact = "the order of loops, and what is converted for it"
	copies      fact = "the dense operands that are read from copies"
	operandList fact = "the leaf's operands"
	products    fact = "the terms as products"
	plans       fact = "the contractions of terms, and what is converted for them"
	withParts   fact = "the terms, with intermediates"
	plainNest   fact = "the nest of loops"
	sameLevels  fact = "whose level arrays the result can have"
	ordered     fact = "the nest, as a schedule changes it"
	loopNest    fact = "the nest, with tables and searches in place of merges"
	levelArrays fact = "whose level arrays the result has"
	additions   fact = "the nest, which adds or assigns to the result"
	wholeLeaf   fact = "the leaf, if it is a long sequence of dense contractions"
	unitsOfLoop fact = "the nest, with what runs each loop"
	choices     fact = "how loops, workspaces and the result are lowered"
	chunkNotes  fact = "the nest, with the chunks of loops on threads"
	loopForms   fact = "the nest, with explicit loops over positions"
	leafCode    fact = "the leaf"
	laneLoops   fact = "the leaf, with its loops in lanes"
	simplified  fact = "the leaf, simplified"
	launched    fact = "the leaf, with launches for a GPU's loops"
	oneMemory   fact = "the leaf, which may read the result's memory"
	finalCode   fact = "the leaf, whose sums over segments carry their position on"
)

// passes are the passes of Compile, in the order in which they run.
//
// The pass "threads" chooses the loops that run on threads, unless a schedule does. The pass
// "strategy" chooses how loops, workspaces and the result are lowered. It uses statistics of the
// operands and a description of the target machine. Two passes then write decisions of the strategy
// into the nest: "chunks" notes how the loops on threads are divided, and "positions" makes the
// loops over positions. The next pass, "lower", turns the nest into the code of the leaf, and the
// passes after it work on that code.
var passes = []pass{
	{"normal", nil, []fact{normalForm}, (*compilation).normalize,
		func(c *compilation) string { return c.stmt.normal.String() + "\n" },
		func(c *compilation) error { return verifyNormal(c.stmt.normal) }},
	{"types", []fact{normalForm}, []fact{computeType}, (*compilation).types,
		func(c *compilation) string { return c.unit.Compute.String() + "\n" },
		func(c *compilation) error { return verifyTypes(c.unit.Compute) }},
	{"result", []fact{normalForm}, []fact{resultKinds}, (*compilation).result,
		(*compilation).resultText, func(c *compilation) error { return verifyResult(c.unit.Result) }},
	{"uses", []fact{normalForm}, []fact{tensorUses}, (*compilation).collect,
		func(c *compilation) string { return c.uses.String() },
		func(c *compilation) error { return c.uses.Verify(c.stmt.normal) }},
	{"order", []fact{normalForm, resultKinds, tensorUses}, []fact{loopOrder}, (*compilation).order,
		(*compilation).orderText, (*compilation).verifyOrder},
	{"network", []fact{normalForm, computeType, resultKinds, tensorUses, loopOrder}, []fact{plans},
		(*compilation).network, func(c *compilation) string { return c.contractions.String() },
		func(c *compilation) error { return c.contractions.Verify() }},
	{"layouts", []fact{tensorUses, loopOrder, plans}, []fact{copies}, (*compilation).layouts,
		(*compilation).orderText, func(c *compilation) error { return c.uses.VerifyCopies() }},
	{"operands", []fact{resultKinds, tensorUses, plans, copies}, []fact{operandList},
		(*compilation).operands, (*compilation).operandsText, (*compilation).verifyOperands},
	{"terms", []fact{normalForm, computeType, loopOrder, operandList}, []fact{products},
		(*compilation).terms, func(c *compilation) string { return c.nest.String() },
		func(c *compilation) error { return c.nest.Verify() }},
	{"contract", []fact{products, plans}, []fact{withParts}, (*compilation).contract,
		func(c *compilation) string { return c.nest.String() },
		func(c *compilation) error { return c.nest.Verify() }},
	{"nest", []fact{withParts}, []fact{plainNest}, (*compilation).loops, (*compilation).cinText,
		(*compilation).verifyCIN},
	{"shared", []fact{plainNest, resultKinds, operandList}, []fact{sameLevels},
		(*compilation).shared,
		func(c *compilation) string { return cmp.Or(c.shareKey(), "none") + "\n" },
		func(c *compilation) error { return share.Verify(c.plain, c.sharing(), c.sharedWith) }},
	{"schedule", []fact{plainNest, sameLevels, operandList, computeType}, []fact{ordered},
		(*compilation).schedule, (*compilation).cinText, (*compilation).verifyCIN},
	{"lookups", []fact{ordered, operandList, computeType}, []fact{loopNest}, (*compilation).lookups,
		(*compilation).cinText, (*compilation).verifyCIN},
	{"arrays", []fact{sameLevels, loopNest, operandList, resultKinds}, []fact{levelArrays},
		(*compilation).arrays, (*compilation).resultText,
		func(c *compilation) error { return verifyResult(c.unit.Result) }},
	{"into", []fact{loopNest, levelArrays, operandList}, []fact{additions},
		(*compilation).addToResult, (*compilation).cinText, (*compilation).verifyCIN},
	{"flat", []fact{additions, operandList, computeType}, []fact{wholeLeaf}, (*compilation).flat,
		(*compilation).cinText, (*compilation).verifyFlat},
	{"threads", []fact{additions, resultKinds, operandList, levelArrays, computeType, plans,
		wholeLeaf},
		[]fact{unitsOfLoop}, (*compilation).threads, (*compilation).cinText, (*compilation).verifyCIN},
	{"strategy", []fact{unitsOfLoop, operandList, levelArrays, computeType}, []fact{choices},
		(*compilation).choose,
		func(c *compilation) string { return strings.Join(c.scheduleLines(), "\n") + "\n" },
		(*compilation).verifyStrategy},
	{"chunks", []fact{unitsOfLoop, choices}, []fact{chunkNotes}, (*compilation).chunks,
		explicitText, verifyExplicit},
	{"positions", []fact{chunkNotes, operandList, levelArrays}, []fact{loopForms},
		(*compilation).positions, explicitText, verifyExplicit},
	{"lower", []fact{loopForms, choices, operandList, levelArrays, computeType}, []fact{leafCode},
		(*compilation).lower, (*compilation).irText, (*compilation).verifyIR},
	{"vectorize", []fact{leafCode}, []fact{laneLoops}, (*compilation).vectorize,
		(*compilation).irText, (*compilation).verifyIR},
	{"simplify", []fact{laneLoops}, []fact{simplified},
		func(c *compilation) error { c.lowered.Simplify(); return nil },
		(*compilation).irText, (*compilation).verifyIR},
	{"simt", []fact{simplified}, []fact{launched}, (*compilation).launch, (*compilation).irText,
		(*compilation).verifyLaunches},
	{"inplace", []fact{launched, tensorUses, operandList, levelArrays, unitsOfLoop}, []fact{oneMemory},
		(*compilation).inPlace, (*compilation).irText, (*compilation).verifyInPlace},
	{"carry", []fact{oneMemory}, []fact{finalCode}, (*compilation).carry, (*compilation).irText,
		(*compilation).verifyIR},
}

// passOrder lists constraints on the order of passes, with their reasons. The rule that a fact must
// be given before it is needed is checked separately.
var passOrder = []struct{ before, after, why string }{
	{"types", "result",
		"a mistake in the types is the user's, and is reported before anything is planned"},
	{"result", "uses",
		"the widths of the result count the old value of a +=, before uses adds it to the terms"},
	{"order", "terms", "factors are sorted by the loops that bind them"},
	{"contract", "nest",
		"the nest computes what is taken out of a term before the loops that read it"},
	{"shared", "schedule",
		"loops over an operand's positions may come in any order, those that append may not"},
	{"schedule", "arrays",
		"loops that a schedule moved may no longer visit what the operand stores, and nothing else"},
	{"arrays", "into", "only a result with an operand's level arrays has a map"},
	{"schedule", "threads", "a schedule says itself what runs on threads"},
	{"vectorize", "inplace", "loops in lanes read no memory that they write"},
	{"inplace", "carry",
		"which elements are read before they are written follows from loops, whose bounds are known"},
	{"vectorize", "simplify", "loops in lanes are found by the form that lowering gives them"},
}

func init() {
	if err := checkPasses(passes); err != nil {
		panic("BUG: codegen: " + err.Error())
	}
}

// checkPasses returns an error if a pass is in the wrong place.
func checkPasses(list []pass) error {
	given := map[fact]string{}
	at := map[string]int{}
	for k, p := range list {
		if _, twice := at[p.name]; twice {
			return fmt.Errorf("two passes are named %s", p.name)
		}
		at[p.name] = k
		for _, f := range p.needs {
			if given[f] == "" {
				return fmt.Errorf("pass %s needs %s, but no earlier pass provides it", p.name, f)
			}
		}
		for _, f := range p.gives {
			if given[f] != "" {
				return fmt.Errorf("passes %s and %s both provide %s; want only one of them to",
					given[f], p.name, f)
			}
			given[f] = p.name
		}
	}
	for _, o := range passOrder {
		before, ok := at[o.before]
		after, also := at[o.after]
		if !ok || !also || before >= after {
			return fmt.Errorf("pass %s must come before %s: %s", o.before, o.after, o.why)
		}
	}
	return nil
}

// run runs the passes in order. If a pass returns an error of type *restart, run continues with the
// earlier pass that the error names.
func (c *compilation) run() error {
	times := make([]PassTime, len(passes))
	for k := 0; k < len(passes); k++ {
		p := &passes[k]
		start := time.Now()
		err := p.run(c)
		took := time.Since(start)
		times[k] = PassTime{p.name, times[k].Took + took}
		var again *restart
		switch {
		case errors.As(err, &again):
			k = slices.IndexFunc(passes, func(p pass) bool { return p.name == again.from }) - 1
			continue
		case err != nil:
			return err
		}
		if c.request.Ask.Verify {
			if err := p.verify(c); err != nil {
				panic(fmt.Sprintf("BUG: codegen: pass %s: %v, of %s:\n%s", p.name, err, c.stmt.normal,
					p.text(c)))
			}
		}
		if c.request.Ask.Trace != nil {
			c.request.Ask.Trace(p.name, took, func() string { return p.text(c) })
		}
		if p.name == "flat" && c.isFlat {
			break
		}
	}
	c.unit.Times = times
	if err := c.verifyIR(); err != nil {
		panic(fmt.Sprintf("BUG: codegen: %v, of %s", err, cin.String(c.unit.CIN)))
	}
	return nil
}

// TimesText returns the duration of each pass, on one line.
func (u *Unit) TimesText() string {
	texts := make([]string, len(u.Times))
	total := time.Duration(0)
	for k, t := range u.Times {
		texts[k] = fmt.Sprintf("%s %v", t.Pass, t.Took.Round(time.Microsecond))
		total += t.Took
	}
	return fmt.Sprintf("passes %v: %s", total.Round(time.Microsecond), strings.Join(texts, ", "))
}

// PassNames returns the names of Compile's passes in their order.
func PassNames() []string {
	names := make([]string, len(passes))
	for k, p := range passes {
		names[k] = p.name
	}
	return names
}

// runTo runs the passes up to and including the one called name.
func (c *compilation) runTo(name string) error {
	for _, p := range passes {
		if err := p.run(c); err != nil || p.name == name || p.name == "flat" && c.isFlat {
			return err
		}
	}
	panic("BUG: codegen: no pass " + name)
}

func explicitText(c *compilation) string  { return cin.Pretty(c.explicit) }
func verifyExplicit(c *compilation) error { return cin.Verify(c.explicit) }
