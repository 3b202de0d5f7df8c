package tcs

import "distaff/io/tensor"

// Exit codes of this package's errors.
const (
	exitRun     = 1
	exitCommand = 2
	exitData    = 3
	exitMemory  = 5
)

// Error is an error with an exit code. If it concerns a file, it names the file.
type Error struct {
	Exit int    // the process's exit code
	File string // "" if the error does not concern a file
	Msg  string
	Err  error // the cause, or nil

	Place *Place // the element that Validate refuses, or nil
}

// Place identifies an element of a tensor's arrays. Index is its position in the whole tensor.
type Place struct {
	Level int
	Array ArrayKind
	Index int64
}

func (e *Error) Error() string {
	s := e.Msg
	if e.File != "" {
		s = tensor.Printable(e.File) + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code of a process that ends with this error.
func (e *Error) ExitCode() int { return e.Exit }
