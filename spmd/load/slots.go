package load

// slots adds zeros to blocks, so that the blocks that share a cut dense level store the same paths.
//
// A path consists of the coordinates of an entry in the levels above the trailing dense levels.
// Under each stored path, a dense level has a position for every coordinate, even if the value is
// zero. If a dense level is divided among blocks and one of these blocks stores a path, all of them
// must store the path. Therefore each of these blocks also gets a zero with the path of every
// entry. If a block has an entry at the coordinates of the zero, the block sums the two.
type slots struct {
	from int       // the first of the dense levels
	own  []int     // dense levels whose variable does not cut a level above them
	cols [][]int64 // one entry
	zero []byte    // its value
	last []int64   // the path of the entry before
	pick []int32   // by level, the current range
}

// newSlots returns the slots of a target. It returns nil if no zeros have to be added to blocks.
// split holds the cuts of each level.
func newSlots(g *Target, split []modeCuts) *slots {
	format := g.Spec.Format
	from := len(format.Levels) - format.TrailingDense()
	if from == 0 || format.Repeats() {
		return nil
	}
	s := &slots{from: from, zero: make([]byte, g.Spec.Type.Size()), pick: make([]int32, len(split))}
	cut := false
	for l := from; l < len(split); l++ {
		if split[l].cuts != nil {
			cut = true
			if split[l].earlier < 0 {
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

// makeRoom stages zeros so that all blocks that share a cut dense level store the paths of the same
// entries (see slots). The entries are a batch of n entries, and cols holds their coordinates by
// level. For each run of consecutive entries with the same path, makeRoom stages one zero in each
// of these blocks.
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
				if c.earlier < 0 {
					base += s.pick[l] * c.stride
				}
			}
		}
		if err := r.stageZeros(base, s.own); err != nil {
			return err
		}
	}
	return nil
}

// stageZeros stages zeros with the path in r.slots.cols. For each combination of nonempty ranges of
// the given dense levels, it stages one zero in the block with these ranges. It stages nothing if
// no block contains the path. base is the part of the block's number that the ranges of other
// levels contribute.
func (r *router) stageZeros(base int32, levels []int) error {
	s := r.slots
	if len(levels) > 0 {
		l := levels[0]
		c := &r.split[l]
		for i := range int32(len(c.cuts) - 1) {
			if c.cuts[i] == c.cuts[i+1] {
				continue // an empty range
			}
			s.pick[l], s.cols[l][0] = i, c.cuts[i]
			if err := r.stageZeros(base+i*c.stride, levels[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	for l := range r.split {
		c := &r.split[l]
		if c.cuts == nil || c.earlier < 0 {
			continue
		}
		i := s.pick[c.earlier]
		if l >= s.from {
			s.pick[l], s.cols[l][0] = i, c.cuts[i]
		} else if s.pick[l] != i {
			return nil // off the diagonal above the dense levels, so that no block contains it
		}
	}
	return r.put(base, s.cols, s.zero, 0, 1)
}
