package planview

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/forecast"
)

// Of so many ranks at most each has a cell with its figures. The cells of more are as wide as this
// in pixels, and their lines as long as this on a machine of one dimension.
const (
	cellRanks  = 256
	cellLine   = 8
	smallCell  = 10
	smallLines = 64
)

// machine are the ranks of a plan, drawn where they stand: in layers of cells with figures, or, of
// many ranks, as small cells.
type machine struct {
	Says   string
	Layers []machineLayer
	Small  *smallCells
}

// machineLayer is a layer's cells, row by row.
type machineLayer struct {
	Name    string
	Columns int
	Cells   []rankCell
}

// rankCell is a rank with what it does.
type rankCell struct {
	Rank, At                      string
	Fill, Ink                     string
	Steps, Received, Sent, Memory string
}

// smallCells are many ranks, which say what they do where the mouse is.
type smallCells struct {
	Width, Height float64
	Label         string // a text alternative
	Cells         []smallRank
}

// smallRank is a rank, or some neighbouring ones.
type smallRank struct {
	X, Y  float64
	Shade float64 // bytes received, of the most: from 0 to 1
	Title string
}

// newMachine draws the ranks of a plan in so many small cells at most.
func newMachine(p *forecast.Planned, cells int) *machine {
	if p.Ranks > cellRanks {
		return newSmallMachine(p, cells)
	}
	x := newLayout(p, cellLine)
	m := &machine{Says: joined(x.says(), x.note)}
	colors := newRankColors(p.Ranks)
	for layer := range x.layers {
		l := machineLayer{Name: x.layerName(layer), Columns: x.cols}
		for row := range x.rows {
			for col := range x.cols {
				r, ok := x.rank(layer, row, col)
				if !ok {
					continue
				}
				c := rankCell{Rank: fmt.Sprintf("rank %d", r), At: x.coordinates(r),
					Steps:    countOf(p.Steps[r], "step"),
					Received: tcs.Size(p.Comm.BytesReceived[r]), Sent: tcs.Size(p.Comm.BytesSent[r]),
					Memory: tcs.Size(p.Memory[r])}
				c.Fill, c.Ink = colors.of(r)
				l.Cells = append(l.Cells, c)
			}
		}
		m.Layers = append(m.Layers, l)
	}
	return m
}

// newSmallMachine draws more ranks: a cell each, or, where they are more than cells, one for
// neighbouring ones, in lines.
func newSmallMachine(p *forecast.Planned, cells int) *machine {
	x := newLayout(p, smallLines)
	each := (p.Ranks + cells - 1) / cells
	says := joined(x.says(), x.note, "A cell is a rank.")
	if each > 1 {
		n := (p.Ranks + each - 1) / each
		x = newLayout(&forecast.Planned{Ranks: n}, smallLines)
		says = fmt.Sprintf(
			"%s ranks in %s: each stands for %d ranks that follow one another, in lines of %d cells.",
			grouped(int64(p.Ranks)), countOf(n, "cell"), each, smallLines)
		if len(p.Machine) > 1 {
			says += fmt.Sprintf(" The machine is %s.", times(p.Machine))
		}
	}
	most := slices.Max(p.Comm.BytesReceived)
	s := &smallCells{Width: pixels((x.column(x.layers-1, x.cols-1) + 1) * smallCell),
		Height: float64(x.rows) * smallCell}
	s.Label = fmt.Sprintf("The bytes that each rank receives, %s at most; the table has all figures",
		tcs.Size(most))
	for lo := 0; lo < p.Ranks; lo += each {
		hi := min(lo+each, p.Ranks)
		layer, row, col := x.place(lo / each)
		c := smallRank{X: pixels(x.column(layer, col) * smallCell), Y: float64(row) * smallCell}
		received := slices.Max(p.Comm.BytesReceived[lo:hi])
		c.Shade = pixels(.06 + .94*float64(received)/float64(max(most, 1)))
		if each == 1 {
			c.Title = fmt.Sprintf("rank %d%s: %s, receives %s, sends %s, memory %s", lo, x.coordinates(lo),
				countOf(p.Steps[lo], "step"),
				tcs.Size(received), tcs.Size(p.Comm.BytesSent[lo]), tcs.Size(p.Memory[lo]))
		} else {
			c.Title = fmt.Sprintf("ranks %d to %d, at most: %s, receives %s, sends %s, memory %s", lo, hi-1,
				countOf(slices.Max(p.Steps[lo:hi]), "step"),
				tcs.Size(received), tcs.Size(slices.Max(p.Comm.BytesSent[lo:hi])),
				tcs.Size(slices.Max(p.Memory[lo:hi])))
		}
		s.Cells = append(s.Cells, c)
	}
	says += fmt.Sprintf(
		" The more bytes a rank receives, the more its cell stands out; the most are %s.", tcs.Size(most))
	return &machine{Says: says, Small: s}
}

// joined are the sentences that are not empty.
func joined(list ...string) string {
	s := ""
	for _, x := range list {
		if x != "" && s != "" {
			s += " "
		}
		s += x
	}
	return s
}
