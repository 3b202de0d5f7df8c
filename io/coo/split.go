package coo

// splitter cuts the keys into buckets of about equal size that follow one another
// in the order of keys, as a sample of them tells. It is a trie of tables, each by
// one digit: a bin of the first that has too many records has a table of its own,
// by the digit below. Bins with few share a bucket.
type splitter struct {
	words, lo int
	most      int // of the sample in a bucket, unless they agree down to bit lo
	tables    []splitTable
	tops      []int // by bucket, the bit under which its keys differ: lo where they don't
}

type splitTable struct {
	digit    digit
	hi, from int      // the bits of the digit
	counts   []int    // by bin, of the sample
	to       []uint32 // by bin: the bucket, or deeper and the table
}

// deeper marks the number of a table.
const deeper = 1 << 31

// firstBits is the width of the first digit.
const firstBits = 12

// newSplitter makes buckets of which each has about most records of the sample.
func newSplitter[R record](sample []R, words, lo, hi, most int) *splitter {
	s := &splitter{words: words, lo: lo, most: most}
	s.table(hi, firstBits)
	for done := 0; done < len(s.tables); {
		end := len(s.tables)
		countBins(s, sample, done)
		for k := done; k < end; k++ {
			t := &s.tables[k]
			for bin, n := range t.counts {
				if n > most && t.from > lo {
					t.to[bin] = uint32(deeper | len(s.tables))
					s.table(t.from, digitBits)
					t = &s.tables[k]
				}
			}
		}
		done = end
	}
	s.number(0)
	return s
}

func (s *splitter) table(hi, width int) {
	d, from := below(s.words, s.lo, hi, width)
	s.tables = append(s.tables,
		splitTable{digit: d, hi: hi, from: from, counts: make([]int, d.mask+1),
			to: make([]uint32, d.mask+1)})
}

// countBins counts the bins of the tables from first on.
func countBins[R record](s *splitter, sample []R, first int) {
	for i := range sample {
		for k := 0; ; {
			t := &s.tables[k]
			bin := sample[i][t.digit.word] >> t.digit.shift & t.digit.mask
			if k >= first {
				t.counts[bin]++
				break
			}
			if t.to[bin] < deeper {
				break
			}
			k = int(t.to[bin] &^ deeper)
		}
	}
}

// number gives the bins of table k buckets.
func (s *splitter) number(k int) {
	t := &s.tables[k]
	left := -1 // that the last bucket may still take
	for bin, n := range t.counts {
		if t.to[bin] >= deeper {
			s.number(int(t.to[bin] &^ deeper))
			left = -1
			continue
		}
		if n > left || left < 0 {
			top := t.hi
			left = s.most
			if n > s.most && t.from <= s.lo {
				top, left = s.lo, n // all are alike
			}
			s.tops = append(s.tops, top)
		}
		left -= n
		if s.tops[len(s.tops)-1] == s.lo {
			left = -1
		}
		t.to[bin] = uint32(len(s.tops) - 1)
	}
}

// buckets is the number of buckets.
func (s *splitter) buckets() int { return len(s.tops) }

// bucketOf is the bucket of a record.
func bucketOf[R record](s *splitter, r *R) int {
	t := &s.tables[0]
	to := t.to[(*r)[t.digit.word]>>t.digit.shift&t.digit.mask]
	for to >= deeper {
		t = &s.tables[to&^deeper]
		to = t.to[(*r)[t.digit.word]>>t.digit.shift&t.digit.mask]
	}
	return int(to)
}
