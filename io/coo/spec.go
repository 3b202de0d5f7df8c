package coo

import (
	"fmt"
	"runtime"
	"strings"

	"distaff/io/tcs"
)

// Duplicates says what becomes of a coordinate that is there twice.
type Duplicates uint8

const (
	Sum    Duplicates = iota // summed; kept where the innermost level keeps repeats (tcs.KeepsRepeats)
	Refuse                   // an error, exit 3
)

// Spec is the tensor wanted of a stream.
type Spec struct {
	Kinds string // level kinds, outermost first
	Modes []int  // the mode of each level; nil for 0, 1, ...

	Dims   []int64    // sizes; nil for the stream's
	Box    [][2]int64 // of a block; nil for the whole. Entries outside are an error
	Splits []tcs.Split
	Type   tcs.Type // of values; Invalid for the stream's

	Duplicates Duplicates
	FitDense   bool   // dense levels cover the smallest to the largest coordinate only
	Wide       bool   // pos and crd in 64 bits
	Name       string // of the tensor or file, for messages
	// Locate finds the lines of the first two entries at a coordinate, for
	// messages; 0 where there is no such line. It may be nil, and is called when the
	// input was read to its end.
	Locate func(at []int64) (first, second int)
}

// Config is what the work may use.
type Config struct {
	Limit   *tcs.Limit // memory; nil: what the machine has free
	Tmp     string     // folder of temporary files; "" for os.TempDir
	Threads int        // 0 for GOMAXPROCS
}

func (c Config) threads() int {
	if c.Threads > 0 {
		return c.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Error is a fault in the data of a stream (exit 3) or in what is wanted of
// it (exit 2).
type Error struct {
	Exit int
	Name string // of the tensor or file; may be ""
	Msg  string
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Msg
	}
	return tcs.Printable(e.Name) + ": " + e.Msg
}

// ExitCode is 2 or 3.
func (e *Error) ExitCode() int { return e.Exit }

// repeatErr refuses a coordinate that is there more than once.
func (s *Spec) repeatErr(at []int64) error {
	first, second := 0, 0
	if s.Locate != nil {
		first, second = s.Locate(at)
	}
	if second == 0 {
		return s.dataErr("coordinate %s is there more than once", place(at))
	}
	return &Error{Exit: 3, Name: fmt.Sprintf("%s:%d:1", s.Name, second),
		Msg: fmt.Sprintf("coordinate %s is there more than once, first in line %d", place(at), first)}
}

// keeps reports whether entries at one coordinate stay apart.
func (s *Spec) keeps() bool { return tcs.KeepsRepeats(s.Kinds) && s.Duplicates != Refuse }

// byMode returns the coordinates of levels by mode.
func (s *Spec) byMode(levels []int64) []int64 {
	at := make([]int64, len(levels))
	for l, x := range levels {
		at[s.Modes[l]] = x
	}
	return at
}

// errChanged says that a stream had other entries when it was read again.
func (s *Spec) errChanged() error { return s.dataErr("the input changed between two readings") }

func (s *Spec) dataErr(format string, args ...any) error {
	return &Error{Exit: 3, Name: s.Name, Msg: fmt.Sprintf(format, args...)}
}

// normal fills the spec's defaults in from the stream.
func (s Spec) normal(in Stream) (Spec, error) {
	dims, _ := in.Dims()
	if s.Modes == nil {
		s.Modes = tcs.Identity(len(s.Kinds))
	}
	if s.Type == tcs.Invalid {
		s.Type = in.Type()
	}
	if err := tcs.CheckFormat(s.Kinds, s.Modes, len(dims)); err != nil {
		return s, err
	}
	if s.Dims != nil && len(s.Dims) != len(dims) {
		return s, &Error{Exit: 2, Name: s.Name,
			Msg: fmt.Sprintf("sizes %v for a tensor of %s", s.Dims, tcs.Count(len(dims), "mode"))}
	}
	return s, tcs.CanConvert(s.Type, in.Type())
}

// place prints coordinates as the user counts them, from 1.
func place(coords []int64) string {
	var b strings.Builder
	for i, x := range coords {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, x+1)
	}
	return "(" + b.String() + ")"
}
