package interp

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// table holds the memories that Keep moved into it. An entry that is nil is empty.
type table struct{ entries []*memory }

// table returns the index of t in frame.tables.
func (c *compiler) table(t *ir.Table) int {
	k, ok := c.tables[t]
	if !ok {
		k = len(c.p.tables)
		c.tables[t] = k
		c.p.tables = append(c.p.tables, t)
	}
	return k
}

func (c *compiler) allocTable(s *ir.AllocTable) stmtFn {
	k, n, name := c.table(s.T), c.int(s.Len), s.T.Name
	return func(fr *frame) {
		want := n(fr)
		switch {
		case want < 0:
			fr.errorf("table %s: got an allocation of %d entries", name, want)
		case fr.tables[k] != nil:
			fr.errorf("leak: table %s is allocated again before it is freed", name)
		}
		fr.reserve(want, tensor.Complex128)
		fr.tables[k] = &table{entries: make([]*memory, want)}
	}
}

// entry returns a closure that finds an entry of a table. It ends the run if the index is outside
// the table.
func (c *compiler) entry(t *ir.Table, index ir.Expr) func(*frame) **memory {
	k, x, name := c.table(t), c.int(index), t.Name
	return func(fr *frame) **memory {
		i := x(fr)
		if fr.tables[k] == nil {
			fr.errorf("table %s[%d]: the table is not allocated", name, i)
		}
		if n := int64(len(fr.tables[k].entries)); uint64(i) >= uint64(n) {
			fr.errorf("table %s[%d] is out of bounds [0, %d)", name, i, n)
		}
		return &fr.tables[k].entries[i]
	}
}

func (c *compiler) keep(s *ir.Keep) stmtFn {
	k, entry, name := c.array(s.A), c.entry(s.T, s.Index), s.T.Name
	return func(fr *frame) {
		e := entry(fr)
		if *e != nil {
			fr.errorf("keep %s: the entry of table %s is in use", s.A.Name, name)
		}
		m := fr.owned(k, "keep")
		delete(fr.live, m)
		*e = m
		fr.arrays[k] = m.gone(kept)
	}
}

func (c *compiler) take(s *ir.Take) stmtFn {
	k, entry, name := c.array(s.A), c.entry(s.T, s.Index), s.T.Name
	return func(fr *frame) {
		e := entry(fr)
		if *e == nil {
			fr.errorf("take %s: the entry of table %s is empty", s.A.Name, name)
		}
		if old := fr.arrays[k]; fr.live[old] {
			fr.errorf("leak: %s is taken while it holds memory", s.A.Name)
		}
		m := **e
		m.name = s.A.Name
		fr.arrays[k] = &m
		fr.live[&m] = true
		*e = nil
	}
}

func (c *compiler) freeTable(s *ir.FreeTable) stmtFn {
	k, name := c.table(s.T), s.T.Name
	return func(fr *frame) {
		t := fr.tables[k]
		if t == nil {
			fr.errorf("free table %s: the table is not allocated", name)
		}
		for _, m := range t.entries {
			if m != nil {
				fr.limit += m.len() * m.elem.Size()
			}
		}
		fr.limit += int64(len(t.entries)) * tensor.Complex128.Size()
		fr.tables[k] = nil
	}
}

func (c *compiler) sortBy(s *ir.SortBy) stmtFn {
	k, lo, hi, tracks := c.array(s.Perm), c.int(s.Lo), c.int(s.Hi), c.tracks(s.Perm)
	keys := make([]int, len(s.Keys))
	keyTracks := make([][]int, len(s.Keys))
	for i, a := range s.Keys {
		keys[i], keyTracks[i] = c.array(a), c.tracks(a)
	}
	return func(fr *frame) {
		m := fr.arrays[k]
		l, h := fr.span(m, lo(fr), hi(fr))
		fr.read(m, l, h, tracks)
		perm := m.i64[l:h]
		for i, key := range keys {
			for _, p := range perm {
				from := fr.arrays[key]
				fr.read(from, p-from.first, p-from.first+1, keyTracks[i])
			}
		}
		slices.SortStableFunc(perm, func(p, q int64) int {
			for _, key := range keys {
				from := fr.arrays[key]
				x, y := from.i64[p-from.first], from.i64[q-from.first]
				if x != y {
					if x < y {
						return -1
					}
					return 1
				}
			}
			return 0
		})
		fr.wrote(m, l, h, tracks)
	}
}
