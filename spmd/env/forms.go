package env

import (
	"encoding/json"
	"maps"
	"os"

	"distaff/codegen/forms"
	"distaff/kernels/cc"
	"distaff/kernels/tune"
	"distaff/spmd/comm"
)

// Forms returns the forms of code with which leaves are compiled. All ranks use the forms of rank
// 0. For each choice, this is the form that was measured on rank 0's CPU and stored in rank 0's
// cache. If none was measured, it is the form that is shipped for the model of this CPU. Forms
// returns none if Settings.Untuned is set, or if leaves are compiled for another CPU.
//
// The first call may communicate, so every rank must make it. Later calls return the same forms
// without communication.
func (e *Env) Forms() (forms.Set, error) {
	if e.forms != nil || e.set.Untuned || e.set.CPU != "" && e.set.CPU != cc.Native {
		return e.forms, nil
	}
	var text []byte
	if e.Root() {
		var err error
		if text, err = json.Marshal(e.measured()); err != nil {
			panic("BUG: env: forms do not marshal: " + err.Error())
		}
	}
	text, err := comm.BcastBytes(e.Comm.Uncounted(), text, 0)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &e.forms); err != nil {
		panic("BUG: env: forms of rank 0: " + err.Error())
	}
	return e.forms, nil
}

// measured returns the forms in this rank's cache. For choices that were not measured it returns
// the forms that are shipped for the CPU's model.
func (e *Env) measured() forms.Set {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return forms.Set{} // the first leaf that is compiled reports this error
	}
	m, err := tune.LoadModel(cfg.Cache)
	if err != nil {
		e.Detail("no measured forms are used: " + err.Error())
	}
	forms := tune.Shipped()
	if m != nil {
		maps.Copy(forms, m.Forms.Known())
	}
	return forms
}
