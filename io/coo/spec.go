package coo

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Duplicates selects the treatment of entries with equal coordinates.
type Duplicates uint8

const (
	// add the values; but entries stay apart if the innermost level keeps repeats
	// (tensor.Format.Repeats)
	Sum    Duplicates = iota
	Refuse            // return an error with exit code 3
)

// Spec describes the tensor to make of a stream.
type Spec struct {
	Format tensor.Format // a nil Order means 0, 1, ...

	Dims []int64 // sizes; nil selects the sizes of the stream
	// the box of a block; nil means the whole tensor. Entries outside the box are an error
	Box    [][2]int64
	Splits []tcs.Split
	Type   tensor.Type // value type; None selects the type of the stream

	Duplicates Duplicates
	// make dense levels cover only the range from the smallest to the largest coordinate
	FitDense bool
	Wide     bool   // pos and crd arrays have 64-bit elements
	Name     string // name of the tensor or file, for messages
	// Locate returns the line numbers of the first two entries at a coordinate, for messages. A
	// number is 0 if the line is unknown. Locate may be nil. It is called after the input was read
	// to its end.
	Locate func(at []int64) (first, second int)
	// ZeroBased is true if the input counts coordinates from 0, as messages with its lines then do.
	ZeroBased bool
}

// Config limits the resources of a sort or an assembly.
type Config struct {
	Limit   *tcs.Limit // memory; nil sets no limit
	Tmp     string     // folder of temporary files; "" selects os.TempDir
	Threads int        // number of threads; 0 selects GOMAXPROCS
}

func (c Config) threads() int {
	if c.Threads > 0 {
		return c.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Error reports a fault in the data of a stream (exit code 3) or in the request (exit code 2), or
// that sizes differ in Diff (exit code 4).
type Error struct {
	Exit int
	Name string // name of the tensor or file; may be ""
	Msg  string
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Msg
	}
	return tensor.Printable(e.Name) + ": " + e.Msg
}

// ExitCode returns 2, 3 or 4.
func (e *Error) ExitCode() int { return e.Exit }

// repeatErr returns the error for a coordinate that occurs more than once.
func (s *Spec) repeatErr(at []int64) error {
	first, second := 0, 0
	if s.Locate != nil {
		first, second = s.Locate(at)
	}
	if second == 0 {
		return s.dataErr("got coordinate %s more than once, want it once", formatCoords(at))
	}
	if s.ZeroBased {
		at = slices.Clone(at)
		for m := range at {
			at[m]--
		}
	}
	return &Error{Exit: 3, Name: fmt.Sprintf("%s:%d:1", s.Name, second),
		Msg: fmt.Sprintf(
			"got coordinate %s more than once, first in line %d; want it once", formatCoords(at),
			first)}
}

// keepsRepeats reports whether entries with equal coordinates stay apart.
func (s *Spec) keepsRepeats() bool { return s.Format.Repeats() && s.Duplicates != Refuse }

// byMode converts coordinates listed by level to coordinates listed by mode.
func (s *Spec) byMode(levels []int64) []int64 {
	at := make([]int64, len(levels))
	for l, x := range levels {
		at[s.Format.Order[l]] = x
	}
	return at
}

// errChanged returns the error for a stream that had other entries when it was read again.
func (s *Spec) errChanged() error { return s.dataErr("the input changed between two readings") }

func (s *Spec) dataErr(format string, args ...any) error {
	return &Error{Exit: 3, Name: s.Name, Msg: fmt.Sprintf(format, args...)}
}

// normal returns the spec with a mode order and a value type, and checks it. Dims may stay nil.
func (s Spec) normal(in Stream) (Spec, error) {
	dims, _ := in.Dims()
	s.Format = s.Format.Ordered()
	if s.Type == tensor.None {
		s.Type = in.Type()
	}
	if err := tcs.CheckFormat(s.Format, len(dims)); err != nil {
		return s, err
	}
	if s.Dims != nil && len(s.Dims) != len(dims) {
		return s, &Error{Exit: 2, Name: s.Name,
			Msg: fmt.Sprintf("got sizes %v, want one for each of %s",
				s.Dims, tensor.Count(len(dims), "mode"))}
	}
	return s, tcs.CanConvert(s.Type, in.Type())
}

// formatCoords formats coordinates for messages. It adds 1 to each coordinate.
func formatCoords(coords []int64) string {
	var b strings.Builder
	for i, x := range coords {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, x+1)
	}
	return "(" + b.String() + ")"
}
