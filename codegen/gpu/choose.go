package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
)

// Choose returns the first form that try accepts. A form begins with one of the lists of commands
// in starts, the best first. shape describes the statement after these commands. Choose skips a
// list if shape fails or if try returns an error about the network. If try accepts no form, the
// error gives the reason of the last refusal.
func Choose(starts [][]string, shape func(commands []string) (*Shape, error),
	try func(Form) error) (Form, error) {
	var tried []Form
	var refused error
	why := ""
	for _, commands := range starts {
		s, err := shape(commands)
		if err != nil {
			refused = err
			continue
		}
		why = s.outOfOrder()
		for _, f := range s.Forms() {
			if slices.ContainsFunc(tried,
				func(g Form) bool { return slices.Equal(f.Commands(), g.Commands()) }) {
				continue
			}
			tried = append(tried, f)
			if refused = try(f); refused == nil {
				return f, nil
			}
			if isAboutNetwork(refused) {
				break // all forms with these commands would be refused
			}
		}
	}
	if len(tried) == 0 || isAboutNetwork(refused) {
		return nil, refused
	}
	return nil, NoDefault(cmp.Or(why, reason(refused)))
}

// outOfOrder returns a reason why no form fits the statement: its result has a pattern of its own,
// and the loops do not reach the result's elements in the order of its levels. It returns "" if
// they do.
func (s *Shape) outOfOrder() string {
	if s.Body == nil || s.Shared != nil || s.Result.AllDense() {
		return ""
	}
	first := s.Vars[s.Result.Order[0]]
	ordered := true
	for _, f := range outermostLoops(s.Body) {
		ordered = ordered && (f.Var == first || len(cin.Target(f).Vars) == 0)
	}
	if ordered {
		return ""
	}
	return fmt.Sprintf("%s (its format is %s) is written in order, but sums of its elements come in "+
		"another order", s.key(s.Target), s.Result)
}

// isAboutNetwork reports whether err refuses the contractions of a product.
func isAboutNetwork(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Code == diag.NetworkRefused
}

// NoDefault returns the error for a statement that has no default schedule on a GPU. why is the
// reason.
func NoDefault(why string) error {
	return &diag.Error{Code: diag.ScheduleRefused,
		Msg: "a GPU has no default schedule for this statement: " + why + "; want either " +
			"--target=cpu or a schedule of your own (-s)"}
}

// reason returns the message of an error without the command that it is about and its position in a
// schedule, because the user did not write that schedule.
func reason(err error) string {
	if e := (*diag.Error)(nil); errors.As(err, &e) {
		return strings.TrimPrefix(e.Msg, "parallelize: ")
	}
	return err.Error()
}

// Reason returns the reason for a command of a form, or "" if the form does not have the command.
func (f Form) Reason(command string) string {
	for _, l := range f {
		if l.Command == command {
			return l.Why
		}
	}
	return ""
}
