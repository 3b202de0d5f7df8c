package choice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// maxArray is the largest number of places of an array that a schedule may ask for.
const maxArray = 1 << 40

// FitsPlaces lets a workspace have a place for every coordinate only if it has at most MaxPlaces
// places. If the operands' number of entries is unknown, a workspace with one variable has no
// further limit, and a workspace with several variables may not have places. Otherwise one of these
// limits must also hold:
//
//   - It has at most smallPlaces places.
//   - It has at most placesRatio places per entry of the workspace.
//   - It has at most placesRatio places per entry of the operands. If the workspace has several
//     variables, it may have only one place per entry of the operands. The reason is that each
//     chunk of the outer loop clears the marks of all places.
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

// crdWidths returns the size in bytes of the coordinates of each variable: 4, or 8 if there are at
// least 2^31 coordinates.
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

// hasPlaces reports whether a workspace over v may have a place for every coordinate.
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

// A Bitmap workspace is used only if a leaf adds on average at least bitmapWork values at each of
// its places. With fewer values another form is at least as fast, for two reasons: each chunk of
// the outer loop must first set all places to 0, and a few coordinates are sorted as fast as the
// bits are read.
const bitmapWork = 16

// An intermediate that is made once, outside of all loops, gets a workspace of kind Marks if at
// least one in marksPlaces places is filled. If fewer places are filled, reading all marks at the
// end takes too long. If the values come in order, a list is used instead, unless each entry is the
// sum of at least marksWork values. Threads may share a workspace of kind Marks.
const (
	marksPlaces = 8
	marksWork   = 4
)

// mayUseMarks reports whether workspace t, which w makes, is allowed to have the kind Marks: each
// place has a mark that says whether it is used, and there is no list of the used places.
func mayUseMarks(f *facts, t *cin.Access, w *cin.Where) bool {
	x, ok := f.problem.Intermediates[t.Name]
	return ok && x.Uses <= 1 && x.FillsMarks(f.places(t.Vars)) &&
		slices.Contains(outsideLoops(f.stmt), w)
}

// FillsMarks reports whether an intermediate has enough entries for a workspace of kind Marks with
// the given number of places. Few entries are not enough, because all marks are read at the end,
// also the marks of empty places. The intermediate must be made only once, outside of all loops.
func (x Intermediate) FillsMarks(places float64) bool {
	return places <= MaxPlaces && places <= marksPlaces*x.Entries
}

// Summed reports whether each entry of the intermediate is the sum of many values. A workspace with
// marks is then faster than a list, even if the values come in order.
func (x Intermediate) Summed() bool { return x.Added >= marksWork*x.Entries }

// Shared reports whether enough values are added to the intermediate to let threads share its
// workspace. Whether they can share it depends on the kind of the workspace.
func (x Intermediate) Shared() bool { return x.Added >= sharedWork }

// outsideLoops returns the wheres in s that are neither inside a loop nor in a sequence of
// statements.
func outsideLoops(s cin.Stmt) []*cin.Where {
	switch s := s.(type) {
	case *cin.SuchThat:
		return outsideLoops(s.Body)
	case *cin.Where:
		return append(append([]*cin.Where{s}, outsideLoops(s.Consumer)...), outsideLoops(s.Producer)...)
	}
	return nil
}

// Threads share the workspace of an intermediate only if at least sharedWork values are added to
// it.
const sharedWork = 1 << 15

// workspaceOf returns the default form of workspace t, which w makes.
func workspaceOf(f *facts, t *cin.Access, w *cin.Where) strategy.Space {
	places, producer := f.places(t.Vars), w.Producer
	form, why := strategy.Form{Rows: byRows(f, t)}, coordinates(f, t)
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
			form.Kind, form.Of, why = strategy.Terms, allTermsOf(f, producer, t),
				fmt.Sprintf("%.4g values are added at some of %.4g coordinates", n, places)
			return strategy.Space{Form: form, Why: why}
		}
		if form, of, ok := termRows(f, w, t); ok && mostlyApart(f, of, t.Vars[:len(t.Vars)-form.Dense]) &&
			f.places(row) >= termsEach {
			why = fmt.Sprintf(
				"each entry of %s adds a row along %s, and most of these rows have different "+
					"coordinates",
				of.Key(), strings.Join(row, ", "))
			return strategy.Space{Form: form, Why: why}
		}
		if table.Dense > 0 {
			why += fmt.Sprintf(", and is filled everywhere or nowhere along %s", strings.Join(row, ", "))
		}
		return strategy.Space{Form: table, Why: why}
	}
	if form.Kind = strategy.MarkedList; n >= bitmapWork*places {
		form.Kind, why = strategy.Bitmap, fmt.Sprintf("about %.4g values are added at %.4g "+
			"coordinates", n, places)
	}
	return strategy.Space{Form: form, Why: why}
}

// A workspace stores each added value, and sorts and sums them later, only if at most termsEach
// values are expected per entry. With more values a hash table is cheaper, because it has only one
// place for all values of an entry. The limit is 4 because sorting a value takes a quarter of the
// time that it takes to find its place in a hash table larger than the caches.
const termsEach = 4

// If the last variables of a workspace are filled densely, the workspace can be a hash table with a
// row of values for each key. Such a table is better than an array with a mark or a bit for each
// place if a row has at least tableRow places. The table is searched only once per row, and needs
// no marks.
const tableRow = 8

// termsAdded returns an upper bound of the number of values that producer adds to workspace t. ok
// is true if each of these values is the product of an entry of a single sparse operand and
// elements of dense operands, and the coordinates of the entry determine these elements. If the
// operand's number of entries is unknown, n is infinite.
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

// allTermsOf returns the name of an operand with this property: each value that producer adds to
// workspace t comes from an entry of the operand, and no entry gives more than one value. It
// returns "" if there is no such operand.
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

// expected returns the expected number of distinct places that are drawn, if places are drawn
// uniformly at random with replacement. draws is the number of draws, and places is the number of
// all places.
func expected(draws, places float64) float64 { return -places * math.Expm1(-draws/places) }

// coordinates returns a phrase that says how many coordinates workspace t has. It is used in the
// reason that is given for the workspace's form.
func coordinates(f *facts, t *cin.Access) string {
	return fmt.Sprintf("%s has %.4g coordinates", t.Key(), f.places(t.Vars))
}

// Intermediate describes the expected use of a temporary that a contraction makes. Uses is how many
// times the temporary is computed. Added is the number of values that are added to it, and Entries
// is the number of entries that result, both summed over all these times.
type Intermediate struct{ Uses, Added, Entries float64 }

// A workspace can store its entries by rows. A row is then found without a search, in an array of
// the starts of all rows. This is done only if there are at most emptyRows rows per expected entry,
// because the array is written anew each time that the workspace is filled.
const emptyRows = 4

// byRows reports whether workspace t should store its entries by rows, so that a row is found
// without a search. A row consists of the entries that agree in all variables except the last.
// byRows is false for a workspace with a single variable.
func byRows(f *facts, t *cin.Access) bool { return keysByRows(f, t, t.Vars) }

// keysByRows reports whether workspace t should store its keys by rows, so that a row of keys is
// found without a search. The list keys has the first variables of t, and a key consists of their
// coordinates. All keys of a row have the same coordinates, except along the last variable in the
// list. Each key has a value for each coordinate of t's other variables.
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
// patterns are uniform and independent. An assignment whose number is not known counts as 0.
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

// The initial capacity of a result is estimated as if the operands' entries were uniformly
// distributed. Few sparse matrices are uniform, so the capacity is at most maxCapacityFactor times
// the number of entries of the operands. If the number of the result's entries is known exactly,
// the capacity has only the limit maxCapacity.
const (
	maxCapacityFactor = 8
	maxCapacity       = 1 << 26
)

// capacityFactor returns an estimate of how many entries the result has for each entry of the
// sparse operands, rounded up to a power of two. To estimate the entries of the result, it counts
// the sums that are made in workspaces and the products that are stored directly. It returns 1 if
// an operand's number of entries is unknown.
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

// capacity returns how a leaf estimates the initial capacity of the result. A leaf adds
// leastCapacity to the number of entries of the sparse operands, and multiplies the sum by a
// factor. The capacity is this product, but at most an upper bound. capacity also reports for each
// variable of the result whether a workspace over the variable would have a place for each
// coordinate.
func capacity(f *facts) strategy.Result {
	r := strategy.Result{Factor: 1, Fetched: mappedFetch(f), Places: map[string]bool{}}
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

// leastCapacity is a number of entries that is added when a capacity is estimated, so that few
// entries do not make a tiny capacity. That applies to a result, and to the piece of the result
// that a chunk of a loop makes.
const leastCapacity = 16

// mostCapacity returns the largest initial capacity of the result, in entries, so that its arrays
// have at most about the target's CapacityBytes. It is at least 16. The capacity without this limit
// is factor times the sum of leastCapacity and the number of entries of the sparse operands.
// mostCapacity returns 0 if no limit is needed, because the target has none or the operands are
// known to have few entries.
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
