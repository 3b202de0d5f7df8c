package gpu

import (
	"errors"
	"slices"

	"distaff/codegen/diag"
)

// Choose returns the first form that try accepts. shape describes the statement after the given
// commands, and result is the user's name of the statement's result. products has the commands that
// let a library multiply dense matrices. Forms with these commands come first. If shape fails,
// Choose returns its error unchanged. If try refuses every form, the error gives the reason of the
// last refusal. An error of try about the network is returned at once and unchanged, because try
// would refuse every form for it.
func Choose(result string, products []string, shape func(commands []string) (*Shape, error),
	try func(Form) error) (Form, error) {
	var list []Form
	temporaries := []string{"temporaries(" + result + ")"}
	first := [][]string{{}, temporaries}
	if len(products) > 0 {
		first = slices.Concat([][]string{products, slices.Concat(temporaries, products)}, first)
	}
	for k, commands := range first {
		s, err := shape(commands)
		if err != nil && k < len(first)-2 {
			continue // other forms have no products
		}
		if err != nil {
			return nil, err
		}
		for _, f := range s.Forms() {
			if !slices.ContainsFunc(list,
				func(g Form) bool { return slices.Equal(f.Commands(), g.Commands()) }) {
				list = append(list, f)
			}
		}
	}
	var refused error
	for _, f := range list {
		if refused = try(f); refused == nil {
			return f, nil
		}
		var nest *diag.Error
		if errors.As(refused, &nest) && nest.Code == diag.NetworkRefused {
			return nil, refused // every form would be refused
		}
	}
	return nil, NoDefault(reason(refused))
}

// NoDefault returns the error for a statement that has no default schedule on a GPU. why is the
// reason.
func NoDefault(why string) error {
	return &diag.Error{Code: diag.ScheduleRefused,
		Msg: "a GPU has no default schedule for this statement: " + why + "; want either " +
			"--target=cpu or a schedule of your own (-s)"}
}

// reason returns the message of an error without its position in a schedule, because the user did
// not write that schedule.
func reason(err error) string {
	if e := (*diag.Error)(nil); errors.As(err, &e) {
		return e.Msg
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
