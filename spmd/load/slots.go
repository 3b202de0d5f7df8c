package load

import (
	"strings"

	"distaff/io/tcs"
)

// slots gives blocks the room that entries of other blocks make in them.
//
// Dense levels below the last level of another kind have a place for every
// coordinate under each path that is stored above them, and what stands there is
// present, if only as a zero. Where those levels are cut, the path must be in
// all their blocks, whichever of them has its entries: so each entry also goes,
// as a zero, to the blocks beside its own. Blocks sum what comes to one place.
type slots struct {
	from int       // the first of the dense levels
	own  []int     // those that a variable cuts which cuts no level above
	cols [][]int64 // one entry
	zero []byte    // its value
	last []int64   // the path of the entry before
	pick []int32   // by level, the range taken
}

// newSlots is nil where no entry makes room in blocks that are not its own.
func newSlots(g *Target, split []modeCuts) *slots {
	kinds := g.Spec.Kinds
	from := strings.LastIndexFunc(kinds, func(k rune) bool { return tcs.KindOf(byte(k)).HasCrd() }) + 1
	if from == 0 || tcs.KeepsRepeats(kinds) {
		return nil
	}
	s := &slots{from: from, zero: make([]byte, g.Spec.Type.Size()), pick: make([]int32, len(split))}
	cut := false
	for l := from; l < len(split); l++ {
		if split[l].cuts != nil {
			cut = true
			if split[l].again < 0 {
				s.own = append(s.own, l)
			}
		}
	}
	if !cut {
		return nil
	}
	s.cols = make([][]int64, len(split))
	for l := range s.cols {
		s.cols[l] = make([]int64, 1)
	}
	return s
}

// makeRoom puts zeros for the n entries of the batch whose blocks are known.
func (r *router) makeRoom(cols [][]int64, n int) error {
	s := r.slots
	for k := range n {
		same := s.last != nil
		for l := 0; same && l < s.from; l++ {
			same = cols[l][k] == s.last[l]
		}
		if same {
			continue
		}
		s.last = s.last[:0]
		base := int32(0)
		for l := range cols {
			if l < s.from {
				s.last = append(s.last, cols[l][k])
			}
			s.cols[l][0] = cols[l][k]
			if c := &r.split[l]; l < s.from && c.cuts != nil {
				c.find(s.pick[l:l+1], s.cols[l])
				if c.again < 0 {
					base += s.pick[l] * c.stride
				}
			}
		}
		if err := r.beside(base, s.own); err != nil {
			return err
		}
	}
	return nil
}

// beside puts a zero into every block that takes some range of the levels own.
func (r *router) beside(base int32, own []int) error {
	s := r.slots
	if len(own) > 0 {
		l := own[0]
		c := &r.split[l]
		for i := range int32(len(c.cuts) - 1) {
			if c.cuts[i] == c.cuts[i+1] {
				continue // an empty range
			}
			s.pick[l], s.cols[l][0] = i, c.cuts[i]
			if err := r.beside(base+i*c.stride, own[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	for l := range r.split {
		c := &r.split[l]
		if c.cuts == nil || c.again < 0 {
			continue
		}
		i := s.pick[c.again]
		if l >= s.from {
			s.pick[l], s.cols[l][0] = i, c.cuts[i]
		} else if s.pick[l] != i {
			return nil // off the diagonal above the dense levels: in no block
		}
	}
	return r.put(base, s.cols, s.zero, 0, 1)
}
