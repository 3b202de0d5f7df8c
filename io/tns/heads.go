package tns

import (
	"io"

	"distaff/io/coo"
	"distaff/io/text"
)

// extendedMark is in the comment that MLIR writes before its header.
const extendedMark = "extended FROSTT format"

// toolbox reads the header of a file of the Tensor Toolbox after the word in its first line: the
// number of modes, the sizes and, unless the tensor is dense, the number of entries.
func (h *head) toolbox(in *text.Head, dense bool) error {
	h.Dense = dense
	order, err := h.integers(in, 1, "the number of modes")
	if err != nil {
		return err
	}
	if order[0] < 1 || order[0] > maxOrder {
		return text.Dataf(in.Name(), in.Line, 1, "got %d modes, want 1 to %d", order[0], maxOrder)
	}
	if h.Sizes, err = h.integers(in, int(order[0]), "the sizes"); err != nil {
		return err
	}
	h.SizesAt = in.Line
	if !dense {
		count, err := h.integers(in, 1, "the number of entries")
		if err != nil {
			return err
		}
		h.Announced, h.AnnouncedAt = count[0], in.Line
	}
	h.Start, h.Line = in.Off, in.Line
	return h.firstEntry(in)
}

// integers reads the next line with fields, which must be n sizes or counts. what names them in
// errors.
func (h *head) integers(in *text.Head, n int, what string) ([]int64, error) {
	fs, line, err := h.nextFields(in)
	if err == io.EOF {
		return nil, text.Dataf(in.Name(), in.Line, 1, "got the end of the file, want %s", what)
	} else if err != nil {
		return nil, err
	}
	if len(fs) != n {
		return nil, text.Dataf(in.Name(), line, 1, "got %s, want %d: %s",
			text.Plural(int64(len(fs)), "number", "numbers"), n, what)
	}
	var list []int64
	for _, f := range fs {
		v, err := text.Size(f.Text)
		if err != nil {
			return nil, text.Dataf(in.Name(), line, f.Col, "%v", err)
		}
		list = append(list, v)
	}
	return list, nil
}

// firstEntry finds the first line after the header and counts its columns.
func (h *head) firstEntry(in *text.Head) error {
	fs, line, err := h.nextFields(in)
	if err != nil {
		return errIfNotEOF(err)
	}
	h.Columns, h.First = len(fs), line
	return nil
}

// second reads the lines after the first, which has the fields first. The three first lines may be
// MLIR's header and an entry: N and the number of entries; N sizes; N coordinates and a value. In
// other files, all lines have as many columns as the first. Without entries, only the comment that
// MLIR writes tells.
func (h *head) second(in *text.Head, first []text.Field) error {
	fs, line, err := h.nextFields(in)
	if err != nil {
		return nil // the stream reports an error in that line
	}
	h.Second = len(fs)
	if len(first) != 2 || !text.Whole(first[0].Text) || !text.Whole(first[1].Text) {
		return nil
	}
	order, err := text.Int64(first[0].Text)
	if err != nil || order != int64(len(fs)) || order < 1 || order > maxOrder {
		return nil
	}
	count, err := text.Size(first[1].Text)
	if err != nil {
		return nil
	}
	var sizes []int64
	for _, f := range fs {
		n, err := text.Size(f.Text)
		if err != nil || !text.Whole(f.Text) {
			return nil
		}
		sizes = append(sizes, n)
	}
	header := *h
	header.Sizes, header.SizesAt, header.Start, header.Line = sizes, line, in.Off, line
	header.Announced, header.AnnouncedAt = count, h.First
	header.Columns, header.First, header.Second, header.Word = 0, 0, 0, 0
	if err := header.firstEntry(in); err != nil {
		return nil
	}
	values := header.Columns - len(sizes)
	if header.First > 0 && (values == 1 || values == 2 && header.extended) &&
		(header.Columns != 2 || len(fs) == 1) || header.extended {
		*h = header
	}
	return nil
}

// dense is a dense tensor of the Tensor Toolbox. It has no method Head, because it is not read in
// parts.
type dense struct{ coo.Stream }

func (d dense) Dense() bool                   { return d.Stream.(coo.DenseReporter).Dense() }
func (d dense) Progress() (done, total int64) { return d.Stream.(coo.Progressed).Progress() }
