package coo

// splitter cuts keys into consecutive buckets of about equal size, which it estimates from a sample
// of the keys. It is a trie of tables. A table divides keys into bins by one digit. A bin with too
// many records of the sample has a table of its own, for the next lower digit. Bins with few
// records share a bucket.
type splitter struct {
	words, lo int
	most      int // records of the sample in a bucket, unless their keys agree down to bit lo
	tables    []splitTable
	tops      []int // by bucket, the bit below which its keys differ; lo if they are equal
}

type splitTable struct {
	digit    digit
	hi, from int      // the digit is bits [from, hi) of the key
	counts   []int    // by bin, records of the sample
	to       []uint32 // by bin, the number of its bucket, or of its table with the bit deeper
}

// deeper is a flag in the elements of splitTable.to. An element without the flag is the number of a
// bucket. An element with the flag is the number of a table, for a bin that is divided further.
const deeper = 1 << 31

// firstBits is the largest number of bits in the digit of a splitter's first table.
const firstBits = 12

// newSplitter returns a splitter that divides keys into buckets by their bits [lo, hi). words is
// the number of words in a key. A bucket gets at most goal records of the sample, unless the keys
// agree in all of these bits.
func newSplitter[R record](sample []R, words, lo, hi, goal int) *splitter {
	s := &splitter{words: words, lo: lo, most: goal}
	s.addTable(hi, firstBits)
	for done := 0; done < len(s.tables); {
		end := len(s.tables)
		countBins(s, sample, done)
		for k := done; k < end; k++ {
			t := &s.tables[k]
			for bin, n := range t.counts {
				if n > goal && t.from > lo {
					t.to[bin] = uint32(deeper | len(s.tables))
					s.addTable(t.from, digitBits)
					t = &s.tables[k]
				}
			}
		}
		done = end
	}
	s.numberBuckets(0)
	return s
}

func (s *splitter) addTable(hi, width int) {
	d, from := digitBelow(s.words, s.lo, hi, width)
	s.tables = append(s.tables,
		splitTable{digit: d, hi: hi, from: from, counts: make([]int, d.mask+1),
			to: make([]uint32, d.mask+1)})
}

// countBins counts the keys of the sample in each bin of the splitter's tables. It counts only for
// table number firstTable and the tables after it. The counts of earlier tables are already known,
// and stay unchanged.
func countBins[R record](s *splitter, sample []R, firstTable int) {
	for i := range sample {
		for k := 0; ; {
			t := &s.tables[k]
			bin := sample[i][t.digit.word] >> t.digit.shift & t.digit.mask
			if k >= firstTable {
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

// numberBuckets assigns the bins of table k to buckets, in order. Neighbouring bins with few
// records of the sample share a bucket. If a bin is divided further by another table, the bins of
// that table are assigned instead.
func (s *splitter) numberBuckets(k int) {
	t := &s.tables[k]
	left := -1 // room for records that the current bucket has left
	for bin, n := range t.counts {
		if t.to[bin] >= deeper {
			s.numberBuckets(int(t.to[bin] &^ deeper))
			left = -1
			continue
		}
		if n > left || left < 0 {
			top := t.hi
			left = s.most
			if n > s.most && t.from <= s.lo {
				top, left = s.lo, n // all keys are equal
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

func (s *splitter) buckets() int { return len(s.tops) }

func bucketOf[R record](s *splitter, r *R) int {
	t := &s.tables[0]
	to := t.to[(*r)[t.digit.word]>>t.digit.shift&t.digit.mask]
	for to >= deeper {
		t = &s.tables[to&^deeper]
		to = t.to[(*r)[t.digit.word]>>t.digit.shift&t.digit.mask]
	}
	return int(to)
}
