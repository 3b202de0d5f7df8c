package interp

import "distaff/codegen/ir"

// track is the state of a loop whose iterations are checked for races. epoch numbers the executions
// of the loop, and iter is the current iteration, from 1.
type track struct {
	epoch uint32
	iter  int32
	kind  ir.ForKind
	// inOrdered is set while the iteration is in its ordered section.
	inOrdered bool
}

// cell records what the iterations of one loop did to one element during the loop's current
// execution: the iteration that wrote it and the iteration that read it. 0 means none and many
// means several.
type cell struct {
	epoch          uint32
	writer, reader int32
	atomic         bool
	// wroteOrdered and readOrdered: every write, or read, was in an ordered section.
	wroteOrdered, readOrdered bool
}

// many is recorded in place of the number of an iteration, thread, warp or block. It means that
// several of them made the access.
const many = -1

// access says how an element is accessed.
type access uint8

const (
	reading access = iota
	writing
	updating // by an atomic store
)

// cell returns the record of the accesses to element i of m. The record has the accesses that the
// iterations of one loop made; d is the track of this loop. If the record is from an earlier
// execution of the loop, it is first cleared.
func (m *memory) cell(fr *frame, d int, i int64) *cell {
	for len(m.shadow) <= d {
		m.shadow = append(m.shadow, nil)
	}
	if int64(len(m.shadow[d])) < m.len() {
		m.shadow[d] = append(m.shadow[d], make([]cell, m.len()-int64(len(m.shadow[d])))...)
	}
	c := &m.shadow[d][i]
	if e := fr.tracks[d].epoch; c.epoch != e {
		*c = cell{epoch: e}
	}
	return c
}

// touch records an access to element i of m in the given tracks, or for the thread if fr belongs to
// one. It ends the run if the access races with an access of another iteration or thread.
func (fr *frame) touch(m *memory, i int64, tracks []int, a access) {
	if fr.thread != nil {
		fr.thread.touch(m, i, a)
		return
	}
	for _, d := range tracks {
		c := m.cell(fr, d, i)
		t := &fr.tracks[d]
		if a == reading {
			if c.writer != 0 && c.writer != t.iter && !(c.wroteOrdered && t.inOrdered) {
				fr.race(m, i, t, "read", "written", c.writer)
			}
			c.readOrdered = t.inOrdered && (c.reader == 0 || c.readOrdered)
			switch c.reader {
			case 0:
				c.reader = t.iter
			case t.iter:
			default:
				c.reader = many
			}
			continue
		}
		if c.reader != 0 && c.reader != t.iter && !(c.readOrdered && t.inOrdered) {
			fr.race(m, i, t, "written", "read", c.reader)
		}
		if c.writer != 0 && c.writer != t.iter && !(c.atomic && a == updating) &&
			!(c.wroteOrdered && t.inOrdered) {
			fr.race(m, i, t, "written", "written", c.writer)
		}
		c.wroteOrdered = t.inOrdered && (c.writer == 0 || c.wroteOrdered)
		if c.writer == 0 {
			c.atomic = a == updating
		} else {
			c.atomic = c.atomic && a == updating
			if c.writer != t.iter {
				c.writer = many
				continue
			}
		}
		c.writer = t.iter
	}
}

func (fr *frame) race(m *memory, i int64, t *track, now, before string, other int32) {
	if other == many {
		fr.errorf("race in a %s loop: %s[%d] is %s by iteration %d and %s by several others", t.kind,
			m.name, i+m.first, now, t.iter-1, before)
	}
	fr.errorf("race in a %s loop: %s[%d] is %s by iteration %d and %s by iteration %d", t.kind, m.name,
		i+m.first, now, t.iter-1, before, other-1)
}

// written returns the arrays that statements in b write to, and in which iterations or threads can
// race. Arrays that b itself makes are left out, because only one iteration or thread has them.
// Arrays that a Shared statement makes are not left out, because threads share them.
func written(b *ir.Block) map[*ir.Array]bool {
	set, own := map[*ir.Array]bool{}, map[*ir.Array]bool{}
	ir.WalkRows(b, func(_ ir.Stmt, r *ir.Row) {
		for a, role := range r.Arrays() {
			switch role {
			case ir.Stores, ir.Updates:
				set[a] = true
			case ir.Makes, ir.MakesLocal:
				own[a] = true
			}
		}
	})
	for a := range own {
		delete(set, a)
	}
	return set
}
