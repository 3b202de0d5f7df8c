package gen

// set is a hash set of numbers with open addressing.
type set struct {
	slots []uint64 // 0 means an empty slot
	zero  bool     // whether 0 is in the set
	n     int64
}

func newSet(n int64) *set {
	size := 16
	for int64(size) < 2*n {
		size *= 2
	}
	return &set{slots: make([]uint64, size)}
}

// add adds x and reports whether x was not in the set before.
func (s *set) add(x uint64) bool {
	if x == 0 {
		if s.zero {
			return false
		}
		s.zero = true
		s.n++
		return true
	}
	mask := uint64(len(s.slots) - 1)
	for k := mix(x) & mask; ; k = (k + 1) & mask {
		switch s.slots[k] {
		case 0:
			s.slots[k] = x
			s.n++
			if 2*s.n > int64(len(s.slots)) {
				s.grow()
			}
			return true
		case x:
			return false
		}
	}
}

// grow doubles the capacity.
func (s *set) grow() {
	old := *s
	*s = *newSet(2 * old.n)
	if old.zero {
		s.add(0)
	}
	for _, x := range old.slots {
		if x != 0 {
			s.add(x)
		}
	}
}
