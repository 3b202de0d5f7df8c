package strategy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// A schedule may ask for an array of as many places as memory can have.
const maxArray = 1 << 40

// A workspace has a place for every coordinate of its variables, of which there are at most
// MaxPlaces and, unless they are few, at most placesRatio times as many as it has entries itself,
// or as the operands have, or just as many as these where it is over several variables: each chunk
// clears its marks once.
const (
	MaxPlaces   = 1 << 24
	smallPlaces = 1 << 16
	placesRatio = 8
)

// FitsPlaces tells whether a workspace over so many variables with so many coordinates in all has a
// place for each: of a statement whose operands have so many entries, -1 where that is not known,
// and it so many itself each time that it is made, 0 where that is not known.
func FitsPlaces(variables int, places float64, operands int64, own float64) bool {
	if places > MaxPlaces || operands < 0 {
		return places <= MaxPlaces && variables == 1
	}
	most := float64(operands)
	if variables == 1 {
		most *= placesRatio
	}
	return places <= max(most, placesRatio*own, smallPlaces)
}

// crdWidths are the bytes that coordinates of each variable take at least.
func (f *facts) crdWidths() map[string]uint8 {
	out := map[string]uint8{}
	for v, n := range f.problem.Sizes {
		if out[v] = 4; n >= 1<<31 {
			out[v] = 8
		}
	}
	return out
}

// entries is the number of entries of all operands, -1 where it is not known.
func (f *facts) entries() int64 {
	n := int64(0)
	for _, t := range f.problem.Tensors[1:] {
		if t.NNZ < 0 {
			return -1
		}
		n += t.NNZ
	}
	return n
}

// fits tells whether a workspace over v has a place for every coordinate.
func (f *facts) fits(v string) bool {
	return FitsPlaces(1, float64(f.problem.Sizes[v]), f.entries(), 0)
}

// places is the number of coordinates of some variables together.
func (f *facts) places(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(f.problem.Sizes[v])
	}
	return n
}

// bitmapWork is how many values are added to a Bitmap workspace, in all of a leaf, for
// each of its places at least: every chunk sets its places to 0, and a row
// of very few coordinates is sorted as fast.
const bitmapWork = 16

// An intermediate that is made once, outside of all loops, and fills a place in marksPlaces at
// least, has marks alone: all are looked at in the end, and threads may share it. One that is
// filled in order is rather a list, unless each of its entries is the sum of marksWork values or
// more.
const (
	marksPlaces = 8
	marksWork   = 4
)

// marks tells whether workspace t, which w makes, may have marks alone.
func (f *facts) marks(t *cin.Access, w *cin.Where) bool {
	x, ok := f.problem.Intermediates[t.Name]
	return ok && x.Uses <= 1 && x.FillsMarks(f.places(t.Vars)) &&
		slices.Contains(outsideLoops(f.stmt), w)
}

// FillsMarks tells whether an intermediate of so many places, made once and outside of all loops,
// may have marks alone.
func (x Intermediate) FillsMarks(places float64) bool {
	return places <= MaxPlaces && places <= marksPlaces*x.Entries
}

// Summed tells whether each entry of an intermediate is the sum of so many values that marks are
// better than a list, were it filled in order.
func (x Intermediate) Summed() bool { return x.Added >= marksWork*x.Entries }

// Shared tells whether so much is added to an intermediate that threads share it, where it is of a
// kind that they may.
func (x Intermediate) Shared() bool { return x.Added >= sharedWork }

// outsideLoops are the producers and consumers that are inside no loop.
func outsideLoops(s cin.Stmt) []*cin.Where {
	switch s := s.(type) {
	case *cin.SuchThat:
		return outsideLoops(s.Body)
	case *cin.Where:
		return append(append([]*cin.Where{s}, outsideLoops(s.Consumer)...), outsideLoops(s.Producer)...)
	}
	return nil
}

// sharedWork is how many values are added to an intermediate at least for threads to share it.
const sharedWork = 1 << 15

// SharedSpaces are the intermediates that threads may fill: places of their own of an array, or
// with marks.
func SharedSpaces(p *Problem) map[string]bool {
	f, out := newFacts(p), map[string]bool{}
	for name, s := range f.plain().Spaces {
		out[name] = s.shared() && f.problem.Intermediates[name].Shared()
	}
	return out
}

// shared tells whether what adds to different places of a workspace shares nothing.
func (s Space) shared() bool { return s.Form.Kind == Array || s.Form.Kind == Marks }

// workspace is the form of workspace t, which w makes.
func (f *facts) workspace(t *cin.Access, w *cin.Where) Space {
	places, producer := f.places(t.Vars), w.Producer
	form, why := Form{Rows: f.byRows(t)}, f.coordinates(t)
	n, own := f.additions(producer, t), 0.0
	if x, ok := f.problem.Intermediates[t.Name]; ok {
		n, own = x.Added, x.Entries/max(x.Uses, 1)
	}
	table := f.hashTable(producer, t)
	row := t.Vars[len(t.Vars)-table.Dense:]
	if !FitsPlaces(len(t.Vars), places, f.entries(), own) ||
		table.Dense > 0 && f.places(row) >= tableRow {
		if n, ok := f.terms(producer, t); ok && n <= termsEach*expected(n, places) &&
			f.places(row) < termsEach {
			form.Kind, form.Of, why = Terms, f.allTermsOf(producer, t),
				fmt.Sprintf("%.4g values are added at some of %.4g coordinates", n, places)
			return Space{Form: form, Why: why}
		}
		if form, of, ok := f.termRows(w, t); ok && f.mostlyApart(of, t.Vars[:len(t.Vars)-form.Dense]) &&
			f.places(row) >= termsEach {
			why = fmt.Sprintf(
				"each entry of %s adds a row along %s, and most of these are of coordinates of their own",
				of.Key(), strings.Join(row, ", "))
			return Space{Form: form, Why: why}
		}
		if table.Dense > 0 {
			why += fmt.Sprintf(", and is filled everywhere or nowhere along %s", strings.Join(row, ", "))
		}
		return Space{Form: table, Why: why}
	}
	if form.Kind = MarkedList; n >= bitmapWork*places {
		form.Kind, why = Bitmap, fmt.Sprintf("about %.4g values are added at %.4g coordinates", n, places)
	}
	return Space{Form: form, Why: why}
}

// termsEach is how many values are expected for each entry of a workspace at most for all of them
// to be kept and sorted, where a hash table has one place for all of an entry: to sort a value
// takes a quarter of the time that it takes to find its place in a table that no cache holds.
const termsEach = 4

// tableRow is how many places along which a workspace is filled everywhere or nowhere make a hash
// table with a row of them behind each key better than a place with a mark, or a bit, for each
// coordinate: the row is looked for once, and nothing is noted of its places.
const tableRow = 8

// terms is how many values are added to workspace t at most, in all of what producer does: ok where
// each is an entry of one operand that is not dense times places of dense ones, which the entry
// picks. It is infinite where the operand's entries are not known.
func (f *facts) terms(producer cin.Stmt, t *cin.Access) (n float64, ok bool) {
	ok, some := true, false
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		some = true
		var sparse *cin.Access
		var vars []string // of all factors, and of the workspace
		vars = append(vars, a.LHS.Vars...)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.tensor(x.Name)
			switch {
			case op == nil && len(x.Vars) == 0: // a scalar
			case op == nil || !op.Format.AllDense() && sparse != nil:
				ok = false
			case !op.Format.AllDense():
				sparse = x
			}
			vars = append(vars, x.Vars...)
		})
		if ok = ok && product(a.RHS) && sparse != nil; !ok {
			return
		}
		for _, l := range loops {
			vars = append(vars, l.Var)
		}
		of := f.underived(sparse.Vars)
		for _, v := range f.underived(vars) {
			ok = ok && slices.Contains(of, v)
		}
		if op := f.tensor(sparse.Name); op.NNZ >= 0 {
			n += float64(op.NNZ)
		} else {
			n = math.Inf(1)
		}
	})
	return n, ok && some
}

// allTermsOf is the operand of which each entry adds one value to workspace t, each time that
// producer runs; else "".
func (f *facts) allTermsOf(producer cin.Stmt, t *cin.Access) string {
	if of := f.keysFrom(producer, t, t.Vars); of != nil {
		return of.Name
	}
	return ""
}

// underived are variables, or what a schedule derives them from.
func (f *facts) underived(vars []string) []string {
	if f.g == nil {
		return vars
	}
	var out []string
	for _, v := range vars {
		out = append(out, f.g.Underived(v)...)
	}
	return out
}

// expected is at how many of some places a value is thrown by as many throws.
func expected(throws, places float64) float64 { return -places * math.Expm1(-throws/places) }

// coordinates says how many places a workspace may have.
func (f *facts) coordinates(t *cin.Access) string {
	return fmt.Sprintf("%s has %.4g coordinates", t.Key(), f.places(t.Vars))
}

// Intermediate is what is expected of a temporary that a contraction makes: how often it is made,
// and of all these times together the values that are added and the entries that they come to.
type Intermediate struct{ Uses, Added, Entries float64 }

// emptyRows is how many rows a workspace may have for each entry if its rows are found without a
// search: where each begins is stored anew each time that it is made.
const emptyRows = 4

// byRows tells whether workspace t, over several variables, is read by rows that are found without
// a search.
func (f *facts) byRows(t *cin.Access) bool { return f.keysByRows(t, t.Vars) }

// keysByRows is byRows for the keys of workspace t, over some of its first variables, where a key
// is filled everywhere along the others.
func (f *facts) keysByRows(t *cin.Access, keys []string) bool {
	x, ok := f.problem.Intermediates[t.Name]
	each := f.places(t.Vars[len(keys):])
	return ok && len(keys) > 1 && f.places(keys[:len(keys)-1])*x.Uses*each <= emptyRows*x.Entries
}

// eachWorkspace calls fn for each workspace that is filled in s, and the where that fills it.
func eachWorkspace(s cin.Stmt, fn func(t *cin.Access, w *cin.Where)) {
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			if t := cin.Target(w.Producer); len(t.Vars) > 0 {
				fn(t, w)
			}
		}
	})
}

// additions is how many values a leaf adds to workspace t, were all patterns
// uniform and apart; 0 where that is not known.
func (f *facts) additions(producer cin.Stmt, t *cin.Access) float64 {
	total := 0.0
	cin.Walk(producer, func(s cin.Stmt) {
		a, ok := s.(*cin.Assign)
		if !ok || a.LHS.Name != t.Name {
			return
		}
		n, _ := f.products(a.RHS)
		total += n
	})
	return total
}

// products is at how many places all factors of a product have a value, were their
// patterns uniform and apart, and whether that is so in any case, as they share no
// variable; 0 of another expression, or where it is not known.
func (f *facts) products(x cin.Expr) (n float64, exact bool) {
	if !product(x) {
		return 0, false
	}
	n, exact = 1, true
	seen := map[string]bool{}
	cin.ExprAccesses(x, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || t.NNZ < 0 {
			n, exact = 0, false
			return
		}
		n *= float64(t.NNZ)
		for _, v := range a.Vars {
			if seen[v] {
				n /= max(float64(f.problem.Sizes[v]), 1)
				exact = false
			}
			seen[v] = true
		}
	})
	return n, exact
}

// product tells whether an expression has only products and quotients of
// accesses, numbers and their negatives.
func product(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/') && product(x.X) && product(x.Y)
	case *cin.Neg:
		return product(x.X)
	}
	return true
}

// A result has capacity for maxCapacityFactor times as many entries as the operands at
// first, since few sparse matrices are uniform, or for more where their number is sure,
// and not for more than maxCapacity on that account.
const (
	maxCapacityFactor = 8
	maxCapacity       = 1 << 26
)

// capacityFactor is how many times as many entries as the sparse operands together the
// result is expected to have where they are added up in workspaces, or are products
// that it stores: a power of two.
func (f *facts) capacityFactor() int64 {
	entries, places, added := 1.0, 1.0, 0.0
	most := int64(maxCapacityFactor)
	for _, t := range f.problem.Tensors[1:] {
		if t.NNZ < 0 {
			return 1
		}
		if !t.Format.AllDense() {
			entries += float64(t.NNZ)
		}
	}
	for _, v := range f.vars {
		places *= max(float64(f.problem.Sizes[v]), 1)
	}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			if t := cin.Target(s.Producer); len(t.Vars) > 0 {
				added += f.additions(s.Producer, t)
			}
		case *cin.Assign: // of no sum: all its variables are the result's
			if f.assigns(s) && !s.Accumulate {
				n, exact := f.products(s.RHS)
				added += n
				if exact {
					most = maxCapacity
				}
			}
		}
	})
	// Of so many values thrown at so many places.
	made := expected(added, places)
	n := int64(1)
	for n < most && float64(n)*entries < made && float64(2*n)*entries <= maxCapacity {
		n *= 2
	}
	return n
}

// capacity is what is known of the capacity that the result needs.
func (f *facts) capacity() Result {
	r := Result{Factor: 1, Fetched: f.mappedFetch(), Places: map[string]bool{}}
	if f.sparse() && !f.shared() {
		r.Factor = f.capacityFactor()
		r.Most = f.mostCapacity(r.Factor)
		all := 1.0
		for _, v := range f.vars[:f.deep+1] {
			all *= float64(f.problem.Sizes[v])
		}
		if n := int64(min(all, 1<<40)) + 1; n <= 1<<40 && (r.Most == 0 || n < r.Most) {
			r.Most = n // the result has no more coordinates
		}
	}
	for _, v := range f.vars {
		r.Places[v] = f.fits(v)
	}
	return r
}

// leastCapacity is the entries for which there is capacity beside those of the operands, and beside
// a chunk's part.
const leastCapacity = 16

// mostCapacity is the entries that there is to be capacity for at most at first, 0 where the
// operands are known to have so few that it does not matter.
func (f *facts) mostCapacity(factor int64) int64 {
	if f.problem.Target.CapacityBytes <= 0 {
		return 0
	}
	entry, expected := float64(f.result.Type.Size()), 16.0
	for k, v := range f.vars {
		if k > f.deep {
			entry *= max(float64(f.problem.Sizes[v]), 1) // a block of values
		}
	}
	for _, width := range f.result.CrdWidth {
		entry += float64(width)
	}
	for _, t := range f.problem.Tensors[1:] {
		switch {
		case t.Format.AllDense():
		case t.NNZ < 0:
			expected = math.Inf(1)
		default:
			expected += float64(t.NNZ)
		}
	}
	most := max(float64(f.problem.Target.CapacityBytes)/entry, 16)
	if expected*float64(factor) <= most {
		return 0
	}
	return int64(most)
}
