package choice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// maxArray is the largest number of places of an array that a schedule may ask for.
const maxArray = 1 << 40

// FitsPlaces lets a workspace have a place for every coordinate only if there are at most MaxPlaces
// places. If the operands' number of entries is unknown, the workspace must also have just one
// variable. If the number is known, the number of places must also be within one of these limits:
//
//   - smallPlaces
//   - placesRatio places per entry of the workspace
//   - placesRatio places per entry of the operands, if the workspace has one variable
//   - one place per entry of the operands, if the workspace has several variables. This limit is
//     smaller because each chunk of the outer loop clears the marks of all places.
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

// hasPlaces reports whether a workspace over v may have a place for every coordinate.
func hasPlaces(f *analysis.Facts, v string) bool {
	return FitsPlaces(1, float64(f.Problem.Sizes[v]), f.Entries(), 0)
}

// bitmapWork limits the workspaces that have the kind Bitmap by default. A leaf must add on average
// at least bitmapWork values at each place of such a workspace. With fewer values another form is
// at least as fast, for two reasons: each chunk of the outer loop must first set all places to 0,
// and a few coordinates are sorted as fast as the bits are read.
const bitmapWork = 16

// marksPlaces and marksWork decide whether an intermediate that is made once, outside of all loops,
// may get a workspace of kind Marks. At least one in marksPlaces places must be filled. If fewer
// places are filled, reading all marks at the end takes too long. If the values come in order, a
// list is used instead, unless each entry is the sum of at least marksWork values. Threads may
// share a workspace of kind Marks.
const (
	marksPlaces = 8
	marksWork   = 4
)

// mayUseMarks reports whether workspace t, which w makes, is allowed to have the kind Marks: each
// place has a mark, which is set if the place is used, and the used places are not listed.
func mayUseMarks(f *analysis.Facts, t *cin.Access, w *cin.Where) bool {
	x, ok := f.Problem.Intermediates[t.Name]
	return ok && x.Uses <= 1 && FillsMarks(x, f.Places(t.Vars)) &&
		slices.Contains(outsideLoops(f.Stmt), w)
}

// FillsMarks reports whether an intermediate has enough entries for a workspace of kind Marks with
// the given number of places. Few entries are not enough, because all marks are read at the end,
// also the marks of empty places. The intermediate must be made only once, outside of all loops.
func FillsMarks(x analysis.Intermediate, places float64) bool {
	return places <= MaxPlaces && places <= marksPlaces*x.Entries
}

// IsSummed reports whether each entry of the intermediate is the sum of many values. A workspace
// with marks is then faster than a list, even if the values come in order.
func IsSummed(x analysis.Intermediate) bool { return x.Added >= marksWork*x.Entries }

// MayShare reports whether enough values are added to the intermediate to let threads share its
// workspace. Whether they can share it depends on the kind of the workspace.
func MayShare(x analysis.Intermediate) bool { return x.Added >= sharedWork }

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
func workspaceOf(f *analysis.Facts, t *cin.Access, w *cin.Where) strategy.Space {
	places, producer := f.Places(t.Vars), w.Producer
	form, why := strategy.Form{Rows: byRows(f, t)}, coordinates(f, t)
	n, own := f.Additions(producer, t), 0.0
	if x, ok := f.Problem.Intermediates[t.Name]; ok {
		n, own = x.Added, x.Entries/max(x.Uses, 1)
	}
	table := hashTable(f, producer, t)
	row := t.Vars[len(t.Vars)-table.Dense:]
	if !FitsPlaces(len(t.Vars), places, f.Entries(), own) ||
		table.Dense > 0 && f.Places(row) >= tableRow {
		if n, ok := f.TermsAdded(producer, t); ok && n <= termsEach*expected(n, places) &&
			f.Places(row) < termsEach {
			form.Kind, form.Of, why = strategy.Terms, allTermsOf(f, producer, t),
				fmt.Sprintf("%.4g values are added at some of %.4g coordinates", n, places)
			return strategy.Space{Form: form, Why: why}
		}
		if form, of, ok := termRows(f, w, t); ok && mostlyApart(f, of, t.Vars[:len(t.Vars)-form.Dense]) &&
			f.Places(row) >= termsEach {
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

// By default a workspace stores each added value, and sorts and sums them later, only if at most
// termsEach values are expected per entry. With more values a hash table is cheaper, because it has
// only one place for all values of an entry. The limit is 4 because sorting a value takes a quarter
// of the time that it takes to find its place in a hash table larger than the caches.
const termsEach = 4

// tableRow decides between two forms of a workspace whose last variables are filled densely. One is
// a hash table with a row of values for each key. The other is an array with a mark or a bit for
// each place. The table is better if a row has at least tableRow places, because it is searched
// only once per row and needs no marks.
const tableRow = 8

// allTermsOf returns the name of the operand whose entries give the values that producer adds to
// workspace t. Each of these values comes from an entry of this operand, and no entry gives more
// than one value. allTermsOf returns "" if there is no such operand.
func allTermsOf(f *analysis.Facts, producer cin.Stmt, t *cin.Access) string {
	if of := f.KeysFrom(producer, t, t.Vars); of != nil {
		return of.Name
	}
	return ""
}

// expected returns the expected number of distinct places that are drawn, if places are drawn
// uniformly at random with replacement. draws is the number of draws, and places is the number of
// all places.
func expected(draws, places float64) float64 { return -places * math.Expm1(-draws/places) }

// coordinates returns a phrase with the number of coordinates of workspace t. The phrase is part of
// the reason for the workspace's form.
func coordinates(f *analysis.Facts, t *cin.Access) string {
	return fmt.Sprintf("%s has %.4g coordinates", t.Key(), f.Places(t.Vars))
}

// emptyRows limits the workspaces that store their entries by rows. A row of such a workspace is
// found without a search, in an array of the starts of all rows. There may be at most emptyRows
// rows per expected entry, because the array is written anew each time that the workspace is
// filled. A workspace of kind Marks with several variables always stores its entries by rows.
const emptyRows = 4

// byRows reports whether workspace t should store its entries by rows, so that a row is found
// without a search. A row consists of the entries that agree in all variables except the last.
// byRows is false for a workspace with a single variable.
func byRows(f *analysis.Facts, t *cin.Access) bool { return keysByRows(f, t, t.Vars) }

// keysByRows reports whether workspace t should store its keys by rows, so that a row is found
// without a search. keys lists the variables of a key, which are the first variables of t. A row
// consists of the keys that differ only in the last of these variables. Each key has a value for
// each coordinate of t's other variables.
func keysByRows(f *analysis.Facts, t *cin.Access, keys []string) bool {
	x, ok := f.Problem.Intermediates[t.Name]
	each := f.Places(t.Vars[len(keys):])
	return ok && len(keys) > 1 && f.Places(keys[:len(keys)-1])*x.Uses*each <= emptyRows*x.Entries
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

// maxCapacityFactor and maxCapacity limit the estimate of a result's initial capacity. The estimate
// assumes that the operands' entries are uniformly distributed. Few sparse matrices are uniform, so
// the capacity is at most maxCapacityFactor times the number of entries of the operands. This limit
// does not apply if the number of the result's entries is known exactly. The estimate does not
// raise the capacity above maxCapacity.
const (
	maxCapacityFactor = 8
	maxCapacity       = 1 << 26
)

// capacityFactor estimates the number of entries of the result for each entry of the sparse
// operands. It rounds the number up to a power of two, and limits it (see maxCapacityFactor). To
// estimate the entries of the result, it counts the sums that are made in workspaces and the
// products that are stored directly. It returns 1 if an operand's number of entries is unknown.
func capacityFactor(f *analysis.Facts) int64 {
	entries, places, added := 1.0, 1.0, 0.0
	most := int64(maxCapacityFactor)
	for _, t := range f.Problem.Tensors[1:] {
		if t.NNZ < 0 {
			return 1
		}
		if !t.Format.AllDense() {
			entries += float64(t.NNZ)
		}
	}
	for _, v := range f.Vars {
		places *= max(float64(f.Problem.Sizes[v]), 1)
	}
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			if t := cin.Target(s.Producer); len(t.Vars) > 0 {
				added += f.Additions(s.Producer, t)
			}
		case *cin.Assign: // an assignment without a sum has only the result's variables
			if f.Assigns(s) && !s.Accumulate {
				n, exact := f.ProductEntries(s.RHS)
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
// strategy.LeastCapacity to the number of entries of the sparse operands, and multiplies the sum by
// a factor. The capacity is this product, or an upper bound if the product is larger. For each
// variable of the result, capacity also says whether a workspace over the variable would have a
// place for each coordinate.
func capacity(f *analysis.Facts) strategy.Result {
	r := strategy.Result{Factor: 1, Fetched: mappedFetch(f), Places: map[string]bool{}}
	if f.IsSparse() && !f.SharesLevels() {
		r.Factor = capacityFactor(f)
		r.Most = mostCapacity(f, r.Factor)
		all := f.Places(f.Vars[:f.LastCompressed+1])
		if n := int64(min(all, 1<<40)) + 1; n <= 1<<40 && (r.Most == 0 || n < r.Most) {
			r.Most = n // the result has no more coordinates
		}
	}
	for _, v := range f.Vars {
		r.Places[v] = hasPlaces(f, v)
	}
	return r
}

// mostCapacity returns an upper bound of the result's initial capacity, in entries. With this
// capacity, the result's arrays have about Target.CapacityBytes bytes. The bound is at least 16.
// factor is the factor with which a leaf estimates the capacity (see capacity). mostCapacity
// returns 0 if no bound is needed, because the target has none or because the operands are known to
// have few entries.
func mostCapacity(f *analysis.Facts, factor int64) int64 {
	if f.Problem.Target.CapacityBytes <= 0 {
		return 0
	}
	entry, expected := float64(f.Result.Type.Size()), 16.0
	for k, v := range f.Vars {
		if k > f.LastCompressed {
			entry *= max(float64(f.Problem.Sizes[v]), 1) // a block of values
		}
	}
	for _, width := range f.Result.CrdWidth {
		entry += float64(width)
	}
	for _, t := range f.Problem.Tensors[1:] {
		switch {
		case t.Format.AllDense():
		case t.NNZ < 0:
			expected = math.Inf(1)
		default:
			expected += float64(t.NNZ)
		}
	}
	most := max(float64(f.Problem.Target.CapacityBytes)/entry, 16)
	if expected*float64(factor) <= most {
		return 0
	}
	return int64(most)
}
