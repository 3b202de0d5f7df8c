package text

import (
	"slices"

	"distaff/io/tensor"
)

// ReadLines completes a stream whose file may lack the sizes. l describes the lines, without
// limits of coordinates, and parse calls l.Parse. sizes are the sizes that the file gives, or nil,
// and from is their place for messages. A size in e.Opt.Dims counts first. If all sizes are known,
// coordinates outside them are errors. Otherwise the largest coordinates determine the sizes, until
// SetDims is called.
func (e *Entries) ReadLines(l *Layout, parse func(*Layout, *Block), sizes []int64, from string) {
	exact := true
	for m := range e.Order {
		limit, source := int64(tensor.MaxSize), ""
		switch {
		case m < len(e.Opt.Dims) && e.Opt.Dims[m] >= 0:
			if limit = e.Opt.Dims[m]; e.Opt.DimsFrom != nil {
				source = e.Opt.DimsFrom[m]
			}
		case sizes != nil:
			limit, source = sizes[m], from
		default:
			exact = false
		}
		l.Lims, l.From = append(l.Lims, limit), append(l.From, source)
	}
	if exact {
		e.Parse = func(b *Block) { parse(l, b) }
		e.Sizes = slices.Clone(l.Lims)
		return
	}
	e.Parse = func(b *Block) { parse(l, b); b.SetMax() }
	e.Bound = func(dims []int64, from []string) {
		bounded := *l // a goroutine of the last pass may still use l
		bounded.Lims, bounded.From = slices.Clone(dims), from
		e.Parse = func(b *Block) { parse(&bounded, b) }
	}
}

// PartOf restricts e to part k of n of its file (see Entries.Part) and returns e as a Part.
func PartOf(e *Entries, k, n int) Part {
	e.Part(k, n)
	return &linesPart{e}
}

// linesPart is a part of a file of lines.
type linesPart struct{ *Entries }

func (p *linesPart) Ordinals() bool     { return false }
func (p *linesPart) Count() int64       { return 0 }
func (p *linesPart) Begin(before int64) {}
func (p *linesPart) Seen() int64        { return p.seen }

// CheckCount returns an error if the parts do not have the number of entries that the file
// announces. Only the last part checks it.
func (p *linesPart) CheckCount(before int64, last bool) error {
	if !last {
		return nil
	}
	return p.checkCount(before + p.seen)
}

// SetDims sets the mode sizes if neither the file nor the options have them. sources contains the
// source of each size, for error messages. If the file or the options have the sizes, SetDims
// panics unless dims equals them.
func (p *linesPart) SetDims(dims []int64, sources []string) {
	if p.Bound == nil && !slices.Equal(dims, p.Sizes) {
		panic("BUG: text: other sizes than the file's")
	}
	p.Entries.SetDims(dims, sources)
}
