package planview

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"

	"distaff/io/picture"
	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/stats"
)

// Quantity is a number for each rank, such as the bytes that it sends.
type Quantity struct {
	Name   string
	Values []int64 // by rank
	Bytes  bool
}

// Traffic returns the bytes that each rank sends and receives, and the messages that each rank
// sends.
func Traffic(c stats.Comm) []Quantity {
	return []Quantity{{"sent", c.BytesSent, true}, {"received", c.BytesReceived, true},
		{"messages", c.MessagesSent, false}}
}

// Quantities returns all quantities of a plan.
func Quantities(p *forecast.Planned) []Quantity {
	list := []Quantity{{"steps", p.Steps, false}, {"owned", p.Owned, true}}
	list = append(list, Traffic(p.Comm)...)
	list = append(list, Quantity{"memory", p.Memory, true})
	if p.GPUMemory != nil {
		list = append(list, Quantity{"GPU memory", p.GPUMemory, true})
	}
	if p.Largest != "" {
		list = append(list, Quantity{"entries read of " + p.Largest, p.Balance.Nonzeros, false})
	}
	return list
}

// text formats n, which is a value of the quantity. If the quantity counts bytes, the text has a
// unit. Otherwise plain formats the value. If n is at least 2^63-1, text formats 2^63-1 instead,
// and does not call plain.
func (q Quantity) text(n float64, plain func(float64) string) string {
	switch {
	case q.Bytes && n < math.MaxInt64:
		return tensor.Bytes(int64(n + 0.5))
	case q.Bytes:
		return tensor.Bytes(math.MaxInt64)
	case n >= math.MaxInt64:
		return tensor.Number(math.MaxInt64)
	}
	return plain(n)
}

// Total is a quantity over all ranks, in words.
type Total struct {
	Name                  string
	Total, Min, Mean, Max string
	Ratio                 string // maximum divided by mean; "" if both are zero
	At                    string // the first rank with the maximum; "all" if all ranks are equal
}

// Total returns the sum, the minimum, the mean and the maximum of a quantity over all ranks, as
// texts. plain formats the number of a rank. If the quantity does not count bytes, plain also
// formats its values (see text).
func (q Quantity) Total(plain func(float64) string) Total {
	var sum float64
	lo, hi := q.Values[0], 0
	for r, x := range q.Values {
		sum += float64(x)
		lo = min(lo, x)
		if x > q.Values[hi] {
			hi = r
		}
	}
	most, mean := float64(q.Values[hi]), sum/float64(len(q.Values))
	t := Total{Name: q.Name, At: "all"}
	if float64(lo) < most {
		t.At = plain(float64(hi))
	}
	if mean > 0 {
		t.Ratio = fmt.Sprintf("%.2f", most/mean)
	}
	t.Total, t.Min, t.Mean, t.Max = q.text(sum, plain), q.text(float64(lo), plain),
		q.text(mean, plain), q.text(most, plain)
	return t
}

// bar is one bar of a profile. It shows some neighbouring ranks.
type bar struct {
	x, w float64
	// heights of the largest and the smallest value of the ranks that the bar shows
	most, least float64
	fill        color.RGBA
}

// The width and the height of a profile, and its largest number of bars.
const profileWidth, profileHeight, profileBars = 256, 32, 256

// profile returns at most bars bars, with rank 0 on the left. If there are more ranks than bars, a
// bar shows the largest and the smallest value of several neighbouring ranks. The largest value has
// the highest bar.
func profile(values []int64, bars int) []bar {
	n := min(len(values), bars)
	most := max(slices.Max(values), 1)
	height := func(v int64) float64 { return float64(v) / float64(most) * profileHeight }
	var list []bar
	for k := range n {
		lo, hi := k*len(values)/n, (k+1)*len(values)/n
		part := values[lo:hi]
		list = append(list, bar{float64(k) * profileWidth / float64(n), profileWidth / float64(n),
			height(slices.Max(part)), height(slices.Min(part)), rankColor((lo+hi-1)/2, len(values))})
	}
	return list
}

// drawProfile draws the bars of a quantity. The height of a bar shows the largest value of the
// bar's ranks. The part of the bar above their smallest value is pale.
func drawProfile(name string, bars []bar) template.HTML {
	p := &picture.Picture{W: profileWidth, H: profileHeight, Title: name + " by rank"}
	for _, b := range bars {
		pale := color.NRGBA{b.fill.R, b.fill.G, b.fill.B, 0x66}
		if b.most > b.least {
			p.Rect(b.x, profileHeight-b.most, max(b.w, 2), b.most-b.least, pale)
		}
		if b.least > 0 {
			p.Rect(b.x, profileHeight-b.least, b.w, b.least, b.fill)
		}
	}
	return template.HTML(p.Inline())
}
