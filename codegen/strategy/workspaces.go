package strategy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// maxArray is the largest number of places of an array that a schedule may ask for.
const maxArray = 1 << 40

// A workspace may have a place for every coordinate of its variables. It may have at most MaxPlaces
// places. Unless there are at most smallPlaces, it may also have at most placesRatio places for
// each of its entries, or for each entry of the operands. A workspace over several variables may
// have at most one place for each entry of the operands. The reason is that each chunk clears the
// marks once.
const (
	MaxPlaces   = 1 << 24
	smallPlaces = 1 << 16
	placesRatio = 8
)

// FitsPlaces reports whether a workspace may have a place for each coordinate. variables is the
// number of its variables, and places is the number of their coordinates. operands is the number of
// entries of the operands, or -1 if it is unknown. own is the number of entries of the workspace
// each time that it is filled, or 0 if it is unknown.
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

// crdWidths returns the smallest size in bytes of the coordinates of each variable.
func (f *facts) crdWidths() map[string]uint8 {
	out := map[string]uint8{}
	for v, n := range f.problem.Sizes {
		if out[v] = 4; n >= 1<<31 {
			out[v] = 8
		}
	}
	return out
}

// entries returns the number of entries of all operands, or -1 if it is unknown.
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

// hasPlaces reports whether a workspace over v has a place for every coordinate.
func (f *facts) hasPlaces(v string) bool {
	return FitsPlaces(1, float64(f.problem.Sizes[v]), f.entries(), 0)
}

// places returns the product of the sizes of the given variables.
func (f *facts) places(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(f.problem.Sizes[v])
	}
	return n
}

// bitmapWork is the smallest number of values that a leaf adds for each place of a Bitmap
// workspace. The limit exists because every chunk sets the places to 0, and because sorting a row
// of very few coordinates is equally fast.
const bitmapWork = 16

// An intermediate that is made once, outside of all loops, has marks and no list of marked places,
// if at least one of every marksPlaces places is filled. All marks are then read at the end, and
// threads may share the workspace. An intermediate that is filled in order is a list instead,
// unless each of its entries is the sum of at least marksWork values.
const (
	marksPlaces = 8
	marksWork   = 4
)

// mayUseMarks reports whether workspace t, which w makes, may have a mark for each place and no
// list of the marked places (kind Marks).
func mayUseMarks(f *facts, t *cin.Access, w *cin.Where) bool {
	x, ok := f.problem.Intermediates[t.Name]
	return ok && x.Uses <= 1 && x.FillsMarks(f.places(t.Vars)) &&
		slices.Contains(outsideLoops(f.stmt), w)
}

// FillsMarks reports whether an intermediate has enough entries for the kind Marks, if it has the
// given number of places. All its marks are read at the end. The intermediate must be made once and
// outside of all loops.
func (x Intermediate) FillsMarks(places float64) bool {
	return places <= MaxPlaces && places <= marksPlaces*x.Entries
}

// Summed reports whether each entry of an intermediate is the sum of enough values to prefer marks
// over a list that is filled in order.
func (x Intermediate) Summed() bool { return x.Added >= marksWork*x.Entries }

// Shared reports whether enough values are added to an intermediate for threads to share it, if its
// kind allows this.
func (x Intermediate) Shared() bool { return x.Added >= sharedWork }

// outsideLoops returns the wheres in s that are not inside a loop.
func outsideLoops(s cin.Stmt) []*cin.Where {
	switch s := s.(type) {
	case *cin.SuchThat:
		return outsideLoops(s.Body)
	case *cin.Where:
		return append(append([]*cin.Where{s}, outsideLoops(s.Consumer)...), outsideLoops(s.Producer)...)
	}
	return nil
}

// sharedWork is the smallest number of values that are added to an intermediate for which threads
// share it.
const sharedWork = 1 << 15

// shared reports whether threads can share the workspace, because additions to different places
// touch no common data.
func (s Space) shared() bool { return s.Form.Kind == Array || s.Form.Kind == Marks }

// workspaceOf returns the default form of workspace t, which w makes.
func workspaceOf(f *facts, t *cin.Access, w *cin.Where) Space {
	places, producer := f.places(t.Vars), w.Producer
	form, why := Form{Rows: byRows(f, t)}, coordinates(f, t)
	n, own := f.additions(producer, t), 0.0
	if x, ok := f.problem.Intermediates[t.Name]; ok {
		n, own = x.Added, x.Entries/max(x.Uses, 1)
	}
	table := hashTable(f, producer, t)
	row := t.Vars[len(t.Vars)-table.Dense:]
	if !FitsPlaces(len(t.Vars), places, f.entries(), own) ||
		table.Dense > 0 && f.places(row) >= tableRow {
		if n, ok := termsAdded(f, producer, t); ok && n <= termsEach*expected(n, places) &&
			f.places(row) < termsEach {
			form.Kind, form.Of, why = Terms, allTermsOf(f, producer, t),
				fmt.Sprintf("%.4g values are added at some of %.4g coordinates", n, places)
			return Space{Form: form, Why: why}
		}
		if form, of, ok := termRows(f, w, t); ok && mostlyApart(f, of, t.Vars[:len(t.Vars)-form.Dense]) &&
			f.places(row) >= termsEach {
			why = fmt.Sprintf(
				"each entry of %s adds a row along %s, and most of these rows have different "+
					"coordinates",
				of.Key(), strings.Join(row, ", "))
			return Space{Form: form, Why: why}
		}
		if table.Dense > 0 {
			why += fmt.Sprintf(", and is filled everywhere or nowhere along %s", strings.Join(row, ", "))
		}
		return Space{Form: table, Why: why}
	}
	if form.Kind = MarkedList; n >= bitmapWork*places {
		form.Kind, why = Bitmap, fmt.Sprintf("about %.4g values are added at %.4g "+
			"coordinates", n, places)
	}
	return Space{Form: form, Why: why}
}

// termsEach is the largest expected number of values for each entry of a workspace for which all
// values are stored and sorted. A hash table has one place for all values of an entry. Sorting a
// value takes a quarter of the time of finding its place in a table that is larger than the caches.
const termsEach = 4

// tableRow is the smallest number of places along the densely filled variables for which a hash
// table that stores a row for each key is better than a place with a mark or a bit for each
// coordinate. The table is searched once for a row, and needs no mark for each place.
const tableRow = 8

// termsAdded returns the largest number of values that producer adds to workspace t in all. ok is
// true if each value is an entry of one operand that is not dense times elements of dense operands
// that the entry selects. The number is infinite if the operand's entries are not known.
func termsAdded(f *facts, producer cin.Stmt, t *cin.Access) (n float64, ok bool) {
	ok, some := true, false
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		some = true
		var sparse *cin.Access
		var vars []string // the variables of all factors and of the workspace
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

// allTermsOf returns the name of the operand whose entries give the values that producer adds to
// workspace t, at most one value for each entry. It returns "" if no operand does so.
func allTermsOf(f *facts, producer cin.Stmt, t *cin.Access) string {
	if of := keysFrom(f, producer, t, t.Vars); of != nil {
		return of.Name
	}
	return ""
}

// underived returns the original variables that a schedule derives the given variables from.
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

// expected returns the expected number of distinct places that throws uniformly random throws hit.
func expected(throws, places float64) float64 { return -places * math.Expm1(-throws/places) }

// coordinates returns a text for reasons: how many coordinates a workspace has.
func coordinates(f *facts, t *cin.Access) string {
	return fmt.Sprintf("%s has %.4g coordinates", t.Key(), f.places(t.Vars))
}

// Intermediate describes the expected use of a temporary that a contraction makes. Uses is how many
// times the temporary is computed. Added is the number of values that are added to it, and Entries
// is the number of entries that result, both summed over all these times.
type Intermediate struct{ Uses, Added, Entries float64 }

// emptyRows is the largest number of rows for each entry of a workspace if its rows are found
// without a search. The limit exists because the starts of all rows are stored anew each time that
// the workspace is made.
const emptyRows = 4

// byRows reports whether workspace t, over several variables, should store its entries by rows,
// which are found without a search.
func byRows(f *facts, t *cin.Access) bool { return keysByRows(f, t, t.Vars) }

// keysByRows reports whether workspace t should store its keys by rows, which are found without a
// search. keys are t's first variables. Each key has a row of values along the other variables.
func keysByRows(f *facts, t *cin.Access, keys []string) bool {
	x, ok := f.problem.Intermediates[t.Name]
	each := f.places(t.Vars[len(keys):])
	return ok && len(keys) > 1 && f.places(keys[:len(keys)-1])*x.Uses*each <= emptyRows*x.Entries
}

// eachWorkspace calls fn for each workspace that is filled in s, with the where that fills it.
func eachWorkspace(s cin.Stmt, fn func(t *cin.Access, w *cin.Where)) {
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			if t := cin.Target(w.Producer); len(t.Vars) > 0 {
				fn(t, w)
			}
		}
	})
}

// additions estimates the number of values that a leaf adds to workspace t, assuming that all
// patterns are uniform and independent. It returns 0 if the number is not known.
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

// products estimates the number of places where all factors of a product have a value, assuming
// that their patterns are uniform and independent. exact is true if the number is right for every
// pattern, because the factors do not share a variable. products returns 0 for another expression,
// or if the number is not known.
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

// product reports whether an expression consists only of accesses and numbers, and of products,
// quotients and negatives of these operands.
func product(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/') && product(x.X) && product(x.Y)
	case *cin.Neg:
		return product(x.X)
	}
	return true
}

// A result has an initial capacity of at most maxCapacityFactor times the number of entries of the
// operands, because few sparse matrices are uniform. The factor may be larger if the number of
// entries is certain, up to a capacity of maxCapacity.
const (
	maxCapacityFactor = 8
	maxCapacity       = 1 << 26
)

// capacityFactor returns the expected number of entries of the result as a multiple of the entries
// of the sparse operands, if the entries are sums in workspaces or products that the result stores.
// The factor is a power of two.
func capacityFactor(f *facts) int64 {
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
		case *cin.Assign: // an assignment without a sum has only the result's variables
			if f.assigns(s) && !s.Accumulate {
				n, exact := f.products(s.RHS)
				added += n
				if exact {
					most = maxCapacity
				}
			}
		}
	})
	// made is the expected number of places with a value.
	made := expected(added, places)
	n := int64(1)
	for n < most && float64(n)*entries < made && float64(2*n)*entries <= maxCapacity {
		n *= 2
	}
	return n
}

// capacity returns what is known about the capacity that the result needs.
func capacity(f *facts) Result {
	r := Result{Factor: 1, Fetched: mappedFetch(f), Places: map[string]bool{}}
	if f.isSparse() && !f.shared() {
		r.Factor = capacityFactor(f)
		r.Most = mostCapacity(f, r.Factor)
		all := 1.0
		for _, v := range f.vars[:f.deep+1] {
			all *= float64(f.problem.Sizes[v])
		}
		if n := int64(min(all, 1<<40)) + 1; n <= 1<<40 && (r.Most == 0 || n < r.Most) {
			r.Most = n // the result has no more coordinates
		}
	}
	for _, v := range f.vars {
		r.Places[v] = f.hasPlaces(v)
	}
	return r
}

// leastCapacity is the number of entries that are added to the capacity of a result and of each
// chunk's piece.
const leastCapacity = 16

// mostCapacity returns the largest initial capacity in entries, or 0 if no limit is needed because
// the operands are known to have few entries.
func mostCapacity(f *facts, factor int64) int64 {
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
