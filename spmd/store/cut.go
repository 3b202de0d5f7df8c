package store

import (
	"slices"

	"distaff/spmd/comm"
)

// samples is the smallest number of samples that are taken for each piece. Windows use
// windowSamples instead, because a rank has many windows.
//
// Cuts are placed at samples, so the position of a cut has an error. Each run adds at most the
// distance between two samples of the run to this error. At least samplesPerRun samples of a piece
// are taken for each run. If all coordinates differ, the error is then at most 1/samplesPerRun of a
// piece. If maxSamples reduces the number of samples, the error is larger.
const (
	samples       = 1024
	windowSamples = 32
	samplesPerRun = 16
	maxSamples    = 1 << 19 // largest number of samples of all pieces together
)

// cutPoints returns cuts that divide the entries of all runs and ranks into `parts` parts of about
// equal size. A cut is a list of coordinates, by level. It is the lower bound of a part. The first
// part has no cut. Entries with equal coordinates stay together. order is the number of levels.
// samples is the smallest number of samples for each part. The number may be smaller if maxSamples
// limits it, or if there are fewer entries. Without entries there are no cuts. The cuts are the
// same at every rank. Every rank must call cutPoints.
func cutPoints(c comm.Comm, runs []*run, order, parts int, samples int64) ([][]int64, error) {
	sum := []int64{0, int64(len(runs))}
	for _, r := range runs {
		sum[0] += r.len()
	}
	if err := c.Allreduce(comm.Of(sum), comm.Sum); err != nil {
		return nil, err
	}
	total, wanted := sum[0], max(samples, samplesPerRun*sum[1])
	wanted = max(min(wanted, int64(maxSamples/parts)), 16)
	every := max(total/(wanted*int64(parts)), 1)
	var mine []int64
	for _, r := range runs {
		coord := make([]int64, order)
		for i := every / 2; i < r.len(); i += every {
			r.at(i, coord)
			mine = append(mine, coord...)
		}
	}
	counts := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(len(mine))}), comm.Of(counts)); err != nil {
		return nil, err
	}
	n := int64(0)
	for _, k := range counts {
		n += k
	}
	all := make([]int64, n)
	if err := c.Allgatherv(comm.Of(mine), comm.Of(all), counts); err != nil {
		return nil, err
	}
	var list [][]int64
	for at := 0; at < len(all); at += order {
		list = append(list, all[at:at+order])
	}
	slices.SortFunc(list, compare)
	var cuts [][]int64
	for k := 1; k < parts && len(list) > 0; k++ {
		cuts = append(cuts, list[len(list)/parts*k+len(list)%parts*k/parts])
	}
	return cuts, nil
}

// cutRows returns the ends of at most `parts` windows. The windows have about equal numbers of
// entries, unless single rows have many entries. An end is a position in f, the linear order of all
// levels except the last. The last window ends at f.total. Every rank must call cutRows.
func cutRows(c comm.Comm, runs []*run, f *frame, parts int) ([]int64, error) {
	cuts, err := cutPoints(c, runs, len(f.modes)+1, parts, windowSamples)
	if err != nil {
		return nil, err
	}
	ends := []int64{f.total}
	for _, coord := range cuts {
		at := int64(0)
		for l, n := range f.stride {
			at += coord[l] * n
		}
		if at > 0 {
			ends = append(ends, at)
		}
	}
	slices.Sort(ends)
	return slices.Compact(ends), nil
}

// bounds returns the positions b where each run is divided by the cuts. Part k of run r consists of
// the entries [b[r][k], b[r][k+1]). If there are fewer than parts-1 cuts, the last parts are empty.
func bounds(runs []*run, cuts [][]int64, parts int) [][]int64 {
	list := make([][]int64, len(runs))
	for i, r := range runs {
		b := make([]int64, parts+1)
		for k := 1; k <= parts; k++ {
			b[k] = r.len()
			if k <= len(cuts) {
				b[k] = r.find(cuts[k-1])
			}
		}
		list[i] = b
	}
	return list
}
