package csv

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// head is the information in the first lines of a file. Its fields are exported for gob (see
// OpenPart).
type head struct {
	Header    text.Header
	Start     int64    // the offset of the first line that may be an entry
	Line      int      // the number of lines before Start
	First     int      // the number of the first line of entries; 0 if there is none
	Columns   int      // the number of columns of that line, or of the header; 0 if both are missing
	Names     []string // the names of the columns, in lower case; nil if the file has no header
	Delimiter byte     // ' ' is white space
	Edges     bool     // the file is an edge list
}

// delimiters are the bytes that can separate columns.
const delimiters = ",;\t|"

// valueNames are names of a column of values.
var valueNames = []string{"value", "values", "val", "weight", "weights", "w", "v", "data", "x"}

// readHead reads the lines up to the first entry. edges means that the file is an edge list.
func readHead(src *text.Source, opt coo.Options, edges bool) (*head, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in := text.NewHead(r, src.Name)
	h := &head{Delimiter: opt.Delimiter, Edges: edges}
	_, h.Header.Size = src.Plain()
	for {
		line, err := in.Next()
		if err == io.EOF {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		if t := bytes.TrimSpace(line); len(t) == 0 || t[0] == '#' || t[0] == '%' {
			continue
		}
		if h.Delimiter == 0 {
			h.Delimiter = findDelimiter(line)
		}
		fields := split(line, h.Delimiter)
		h.Columns = len(fields)
		numbers := slices.ContainsFunc(fields, func(f []byte) bool { return text.IsNumber(f) })
		if numbers || h.Names != nil {
			h.First, h.Start, h.Line = in.Line, in.Begin, in.Line-1
			return h, nil
		}
		for _, f := range fields {
			h.Names = append(h.Names, strings.ToLower(string(f)))
		}
		h.Start, h.Line = in.Off, in.Line
	}
}

// findDelimiter returns the byte of delimiters that occurs most often in line, or ' ' if none does.
func findDelimiter(line []byte) byte {
	best, most := byte(' '), 0
	for _, d := range []byte(delimiters) {
		if n := bytes.Count(line, []byte{d}); n > most {
			best, most = d, n
		}
	}
	return best
}

// split returns the fields of a line, without white space and quotation marks around them.
func split(line []byte, delimiter byte) [][]byte {
	var fields [][]byte
	if delimiter == ' ' {
		fields = bytes.Fields(line)
	} else {
		fields = bytes.Split(line, []byte{delimiter})
	}
	for k, f := range fields {
		f = bytes.TrimSpace(f)
		if len(f) > 1 && f[0] == '"' && f[len(f)-1] == '"' {
			f = f[1 : len(f)-1]
		}
		fields[k] = f
	}
	return fields
}

// shape returns the number of modes of the tensor, and the number of columns of a value: 0 without
// values, 1, or 2 for complex values. file names the file in errors.
func (h *head) shape(file string, opt coo.Options) (order, values int, err error) {
	want := opt.Order
	if opt.Dims != nil {
		want = len(opt.Dims)
	}
	if h.Edges {
		if want > 0 && want != 2 {
			return 0, 0, text.Commandf(file, 0, 0, "an edge list has 2 modes, want %d", want)
		}
		want = 2
	}
	n, line := h.Columns, max(h.First, h.Line)
	if n == 0 || h.First == 0 && want == 0 {
		if want == 0 {
			return 0, 0, text.Commandf(file, 0, 0,
				"the file has no entries, so its sizes are not known; give them with -d")
		}
		return want, 1, nil
	}
	if h.Names != nil && len(h.Names) != n {
		return 0, 0, text.Dataf(file, line, 1, "got %s, want %d, as in the header",
			text.Plural(int64(n), "column", "columns"), len(h.Names))
	}
	last := len(h.Names) - 1
	isComplex := last > 0 && h.Names[last-1] == "real" && h.Names[last] == "imag" ||
		n == want+2 && want > 0 && opt.Type.IsComplex()
	switch {
	case isComplex && (want == 0 || n == want+2):
		return n - 2, 2, nil
	case want > 0 && (n == want || n == want+1):
		return want, n - want, nil
	case want > 0:
		fault := text.Commandf
		if h.Edges {
			fault = text.Dataf
		}
		return 0, 0, fault(file, line, 1, "got %s, want %d or %d: %s, and a value or none",
			text.Plural(int64(n), "column", "columns"), want, want+1,
			text.Plural(int64(want), "coordinate", "coordinates"))
	case n == 2 && (h.Names == nil || !slices.Contains(valueNames, h.Names[1])):
		return 2, 0, nil
	}
	return n - 1, 1, nil
}

// valueType returns the type of the values of the tensor. values is from shape.
func valueType(file string, values int, opt coo.Options) (tensor.Type, error) {
	switch {
	case values == 2 && opt.Type == tensor.None:
		return tensor.Complex128, nil
	case values == 2 && !opt.Type.IsComplex():
		return tensor.None, text.Commandf(file, 0, 0,
			"the file's values are complex, but the type asked for is real")
	case opt.Type == tensor.None:
		return tensor.Float64, nil
	}
	return opt.Type, nil
}
