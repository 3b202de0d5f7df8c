package commtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"distaff/spmd/comm"
)

// split makes groups in several ways and uses them together with their parent.
func split(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	odd, err := c.Split(me%2, -me) // ranks in reverse
	if err != nil {
		return err
	}
	want := (p - me%2 + 1) / 2
	if odd.Size() != want || odd.WorldRank(odd.Rank()) != c.WorldRank(me) {
		return fmt.Errorf(
			"got a group of %d ranks, want %d; its rank %d is rank %d of the job",
			odd.Size(), want,
			odd.Rank(), odd.WorldRank(odd.Rank()))
	}
	list, err := comm.Allgather(odd, int64(me))
	if err != nil {
		return err
	}
	for i, r := range list {
		if int(r) != (want-1-i)*2+me%2 {
			return fmt.Errorf(
				"rank %d of the group is rank %d of its parent; want descending ranks", i, r)
		}
	}
	// The parent and the child use the same tag, and receive in another order than they send.
	q, v := odd.Size(), odd.Rank()
	s1, err := c.Isend(comm.Of([]int64{int64(me)}), (me+1)%p, 3)
	if err != nil {
		return err
	}
	s2, err := odd.Isend(comm.Of([]int64{int64(1000 + v)}), (v+1)%q, 3)
	if err != nil {
		return err
	}
	a, b := []int64{0}, []int64{0}
	if err := comm.Recv(odd, a, (v-1+q)%q, 3); err != nil {
		return err
	}
	if err := comm.Recv(c, b, (me-1+p)%p, 3); err != nil {
		return err
	}
	if err := comm.WaitAll(s1, s2); err != nil {
		return err
	}
	if a[0] != int64(1000+(v-1+q)%q) || b[0] != int64((me-1+p)%p) {
		return fmt.Errorf("group's message %d, parent's %d", a[0], b[0])
	}
	// A group of a group, and ranks that join no group.
	color := 0
	if v == 0 {
		color = -1
	}
	sub, err := odd.Split(color, v)
	if err != nil {
		return err
	}
	if (sub == nil) != (v == 0) {
		return fmt.Errorf("got the group %[2]v for a rank of color %[1]d", v, sub)
	}
	if sub != nil {
		sum, err := comm.AllreduceValue(sub, int64(v), comm.Sum)
		if err != nil {
			return err
		}
		if want := int64(q * (q - 1) / 2); sum != want {
			return fmt.Errorf("got the sum %d in the inner group, want %d", sum, want)
		}
		if err := sub.Close(); err != nil {
			return err
		}
	}
	return odd.Close()
}

// splitMany checks that groups can be opened again after they are closed.
func splitMany(c comm.Comm) error {
	var open []comm.Comm
	for i := range 40 { // many groups at once, all in use
		g, err := c.Split(i%2, i%3*c.Rank())
		if err != nil {
			return err
		}
		open = append(open, g)
	}
	for i, g := range open {
		n, err := comm.AllreduceValue(g, int64(i), comm.Sum)
		if err != nil {
			return err
		}
		if int(n) != i*c.Size() {
			return fmt.Errorf("got the sum %d in group %d, want %d", n, i, i*c.Size())
		}
	}
	for _, g := range open {
		if err := g.Close(); err != nil {
			return err
		}
	}
	for i := range 520 { // more groups than can be open at once
		g, err := c.Split((c.Rank()+i)%3, 0)
		if err != nil {
			return err
		}
		n, err := comm.AllreduceValue(g, int64(1), comm.Sum)
		if err != nil {
			return err
		}
		if int(n) != g.Size() {
			return fmt.Errorf("group of %d counts %d", g.Size(), n)
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return nil
}

// counters checks the counts of operations against their definition. It leaves out scans.
func counters(c comm.Comm) error {
	p, me := int64(c.Size()), int64(c.Rank())
	if p == 1 {
		return nil
	}
	if err := c.Barrier(); err != nil {
		return err
	}
	at := func(r int64, then, other int64) int64 {
		if me == r {
			return then
		}
		return other
	}
	root := p - 1
	s := make([]float64, 10)
	children := int64(0) // children of rank 0 in the binomial tree
	for d := int64(1); d < p; d *= 2 {
		children++
	}
	for _, k := range []struct {
		name string
		run  func() error
		want comm.Counters
		skip bool
	}{
		{name: "Send", run: func() error {
			if me == 0 {
				return comm.Send(c, s, 1, 0)
			}
			if me == 1 {
				return comm.Recv(c, s, 0, 0)
			}
			return nil
		}, want: comm.Counters{BytesSent: at(0, 80, 0), MessagesSent: at(0, 1, 0),
			BytesReceived: at(1, 80, 0), MessagesReceived: at(1, 1, 0)}},
		{name: "Barrier", run: c.Barrier},
		{name: "Bcast", run: func() error { return comm.Bcast(c, s, int(root)) },
			want: comm.Counters{BytesSent: at(root, 80, 0), MessagesSent: at(root, 1, 0),
				BytesReceived: at(root, 0, 80), MessagesReceived: at(root, 0, 1)}},
		{name: "Allgather", run: func() error { _, err := comm.Allgather(c, me); return err },
			want: comm.Counters{BytesSent: 8, MessagesSent: 1, BytesReceived: 8 * (p - 1),
				MessagesReceived: p - 1}},
		{name: "Alltoall", run: func() error {
			return c.Alltoall(comm.Of(make([]int32, p)), comm.Of(make([]int32, p)))
		},
			want: comm.Counters{BytesSent: 4 * (p - 1), MessagesSent: p - 1, BytesReceived: 4 * (p - 1),
				MessagesReceived: p - 1}},
		{name: "Gather", run: func() error {
			return c.Gather(comm.Of(s), comm.Of(make([]float64, at(root, 10*p, 0))), int(root))
		}, want: comm.Counters{BytesSent: at(root, 0, 80), MessagesSent: at(root, 0, 1),
			BytesReceived: at(root, 80*(p-1), 0), MessagesReceived: at(root, p-1, 0)}},
		{name: "Reduce", run: func() error { return comm.Reduce(c, s, comm.Sum, 0) }, skip: me != 0,
			want: comm.Counters{BytesReceived: 80 * children, MessagesReceived: children}},
		{name: "Allreduce", run: func() error { return comm.Allreduce(c, s, comm.Sum) }, skip: me != 0,
			want: comm.Counters{BytesReceived: 80 * children, MessagesReceived: children, BytesSent: 80,
				MessagesSent: 1}},
		{name: "uncounted", run: func() error { return comm.Bcast(c.Uncounted(), s, 0) }},
	} {
		before := c.Counters()
		if err := k.run(); err != nil {
			return err
		}
		if got := c.Counters().Sub(before); got != k.want && !k.skip {
			return fmt.Errorf("%s: rank %d of %d counted %+v, want %+v",
				k.name, me, p, got, k.want)
		}
	}
	// Over all ranks, a reduction sends and receives p-1 messages.
	for root := range int(p) {
		before := c.Counters()
		if err := comm.Reduce(c, s, comm.Sum, root); err != nil {
			return err
		}
		d := c.Counters().Sub(before)
		v := []int64{d.BytesSent, d.BytesReceived, d.MessagesSent, d.MessagesReceived}
		if err := comm.Allreduce(c.Uncounted(), v, comm.Sum); err != nil {
			return err
		}
		if want := []int64{80 * (p - 1), 80 * (p - 1), p - 1, p - 1}; !slices.Equal(v, want) {
			return fmt.Errorf("wrong counts of a Reduce to rank %d: the sum over all ranks is %v, "+
				"want %v", root, v, want)
		}
	}
	return nil
}

func values(c comm.Comm) error {
	type plan struct {
		Name  string
		Sizes []int64
		M     map[string]float64
	}
	me, p := c.Rank(), c.Size()
	before := c.Counters()
	v := plan{Name: fmt.Sprint("rank ", me)}
	if me == p-1 {
		v.Sizes, v.M = []int64{1, 2, 1 << 40}, map[string]float64{"x": 0.5}
	}
	if err := comm.BcastValue(c, &v, p-1); err != nil {
		return err
	}
	if v.Name != fmt.Sprint("rank ", p-1) || len(v.Sizes) != 3 || v.Sizes[2] != 1<<40 ||
		v.M["x"] != 0.5 {
		return fmt.Errorf("wrong BcastValue brought %+v", v)
	}
	all, err := comm.AllgatherValue(c, plan{Name: strings.Repeat("x", me)})
	if err != nil {
		return err
	}
	for r, w := range all {
		if len(w.Name) != r {
			return fmt.Errorf("wrong AllgatherValue: got %+[2]v from rank %[1]d", r, w)
		}
	}
	if d := c.Counters().Sub(before); d != (comm.Counters{}) {
		return fmt.Errorf("control values were counted: %+v", d)
	}
	b, err := comm.BcastBytes(c, []byte(strings.Repeat("ab", 3*me+1)), 0)
	if err != nil {
		return err
	}
	if string(b) != "ab" {
		return fmt.Errorf("wrong BcastBytes brought %q", b)
	}
	x, err := comm.ExscanValue(c, int64(me+1), comm.Sum)
	if err != nil {
		return err
	}
	if x != int64(me*(me+1)/2) {
		return fmt.Errorf("wrong ExscanValue is %d", x)
	}
	return nil
}

// codeError is an error with its own exit code.
type codeError struct {
	code int
	text string
}

func (e *codeError) Error() string { return e.text }
func (e *codeError) ExitCode() int { return e.code }

func agree(c comm.Comm) error {
	if err := comm.Agree(c, nil); err != nil {
		return fmt.Errorf("all succeeded, got %w", err)
	}
	for lowest := range c.Size() {
		var mine error
		if c.Rank() >= lowest {
			mine = &codeError{3, fmt.Sprintf("file of rank %d is malformed", c.Rank())}
		}
		err := comm.Agree(c, mine)
		var a *comm.AgreedError
		if !errors.As(err, &a) {
			return fmt.Errorf("got %v, want an AgreedError", err)
		}
		want := fmt.Sprintf("[%d] file of rank %d is malformed", lowest, lowest)
		if c.Size() == 1 { // a job of one rank does not name the rank
			want = "file of rank 0 is malformed"
		}
		if a.Rank != lowest || comm.ExitCode(err) != 3 || err.Error() != want {
			return fmt.Errorf(
				"the ranks agreed on %q with code %d and rank %d, want %q",
				err, comm.ExitCode(err), a.Rank,
				want)
		}
	}
	return nil
}

// wrongUse checks that each misuse is an error at every rank.
func wrongUse(c comm.Comm) error {
	p := c.Size()
	s := make([]float64, 2*p)
	b := comm.Of(s)
	cpx := comm.Of(make([]complex128, 1))
	for _, k := range []struct {
		want string
		run  func() error
	}{
		{"rank -1, want 0 to", func() error { _, err := c.Isend(b, -1, 0); return err }},
		{fmt.Sprintf("rank %d, want 0 to", p), func() error { _, err := c.Irecv(b, p, 0); return err }},
		{"tag -2, want", func() error { _, err := c.Isend(b, 0, -2); return err }},
		{fmt.Sprintf("tag %d, want", comm.MaxTag+1),
			func() error { _, err := c.Irecv(b, 0, comm.MaxTag+1); return err }},
		{"got a nil pointer", func() error { _, err := c.Irecv(comm.Buf{Len: 3}, 0, 0); return err }},
		{"of -1 elements", func() error { return c.Bcast(comm.Buf{Len: -1}, 0) }},
		{"unknown type", func() error { return c.Bcast(comm.Buf{Type: 99}, 0) }},
		{"root 99", func() error { return c.Bcast(b, 99) }},
		{"root -1", func() error { return c.Reduce(b, comm.Sum, -1) }},
		{"no Min of complex128", func() error { return c.Allreduce(cpx, comm.Min) }},
		{"no Or of float64", func() error { return c.Scan(b, comm.Or) }},
		{"no Sum of byte", func() error { return comm.Allreduce(c, []byte{1}, comm.Sum) }},
		{"counts add up to", func() error { return c.Allgatherv(b, b, make([]int64, p)) }},
		{"counts, want one for each", func() error { return c.Allgatherv(b, b, make([]int64, p+1)) }},
		{"count -1", func() error {
			n := make([]int64, p)
			n[0] = -1
			return c.Alltoallv(b, n, b, n)
		}},
		{"elements for",
			func() error { return c.Alltoall(comm.Of(make([]byte, p+1)), comm.Of(make([]byte, p-1))) }},
		{"parts, want one for each", func() error {
			_, err := comm.Alltoallv(c, make([][]byte,
				p+1))
			return err
		}},
	} {
		err := k.run()
		var e *comm.Error
		if p == 1 && k.want == "elements for" {
			continue // any size can be divided by one
		}
		if err == nil || !strings.Contains(err.Error(), k.want) || !errors.As(err, &e) ||
			e.Rank != c.WorldRank(c.Rank()) || e.Op == "" {
			return fmt.Errorf("got the error %v, want %q with its rank and operation",
				err, k.want)
		}
	}
	return nil
}

// truncation checks that if a message is longer than its buffer, only the receive of that message
// fails.
func truncation(c comm.Comm) error {
	p, me := c.Size(), c.Rank()
	for _, n := range []int{100, 100000} {
		in := make([]byte, n-1, n)
		r, err := c.Irecv(comm.Of(in), (me-1+p)%p, 4)
		if err != nil {
			return err
		}
		s, err := c.Isend(comm.Of(make([]byte, n)), (me+1)%p, 4)
		if err != nil {
			return err
		}
		err = r.Wait()
		if !errors.Is(err, comm.ErrTruncated) ||
			!strings.Contains(err.Error(), fmt.Sprintf("Irecv from rank %d, tag 4", (me-1+p)%p)) {
			return fmt.Errorf("got the error %v, want one about a truncated message", err)
		}
		if err := s.Wait(); err != nil {
			return err
		}
	}
	return nil
}
