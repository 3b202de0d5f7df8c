package comm

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
)

type sizeError struct{ got, want int64 }

func (e sizeError) Error() string {
	return fmt.Sprintf("got a message of %d bytes, want %d", e.got, e.want)
}

type partsError struct{ got, want int }

func (e partsError) Error() string {
	return fmt.Sprintf(
		"got %d parts, want one for each of the %d ranks", e.got, e.want)
}

// BcastBytes returns b of root at every rank, and ignores b of the other ranks. The length is sent
// first.
func BcastBytes(c Comm, b []byte, root int) ([]byte, error) {
	n := []int64{int64(len(b))}
	if err := c.Uncounted().Bcast(Of(n), root); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		b = make([]byte, n[0])
	}
	return b, c.Bcast(Of(b), root)
}

// BcastValue sets *v of every rank to the value at root, which is encoded by encoding/gob. At the
// other ranks *v must be zero before, because gob does not transfer zero fields. BcastValue is for
// control values; Counters does not count it.
func BcastValue[T any](c Comm, v *T, root int) error {
	c = c.Uncounted()
	var b []byte
	if c.Rank() == root {
		var err error
		if b, err = encode(v); err != nil {
			return c.Abort(fmt.Errorf("BcastValue: %w", err))
		}
	}
	b, err := BcastBytes(c, b, root)
	if err != nil || c.Rank() == root {
		return err
	}
	return decode(b, v)
}

// AllgatherValue returns v of every rank, in order of rank. Values are encoded by encoding/gob.
// Counters does not count it.
func AllgatherValue[T any](c Comm, v T) ([]T, error) {
	c = c.Uncounted()
	b, err := encode(&v)
	if err != nil {
		return nil, c.Abort(fmt.Errorf("AllgatherValue: %w", err))
	}
	parts, err := Allgatherv(c, b)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(parts))
	for i, p := range parts {
		if err := decode(p, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func encode(v any) ([]byte, error) {
	var w bytes.Buffer
	err := gob.NewEncoder(&w).Encode(v)
	return w.Bytes(), err
}

func decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// Agree lets the ranks agree whether any of them has failed, before they rely on success. Every
// rank must call Agree with its error or nil. All ranks get the same result: nil, or an
// *AgreedError with the error of the lowest rank that failed. If the job itself has failed, a rank
// may get another error.
func Agree(c Comm, err error) error {
	c = c.Uncounted()
	n := int64(c.Size())
	mine := n
	if err != nil {
		var cancelled *RankError
		if c.Context().Err() != nil || errors.As(err, &cancelled) {
			return err // the job has failed already, so no collective can complete
		}
		mine = int64(c.Rank())
	}
	lowest, e := AllreduceValue(c, mine, Min)
	if e != nil || lowest == n {
		return e
	}
	rank := c.WorldRank(int(lowest))
	var f struct {
		Code         int
		Text         string
		Own, Missing bool
	}
	if mine == lowest {
		var own *LocalUsageError
		f.Code, f.Text, f.Own = ExitCode(err), err.Error(), errors.As(err, &own)
		f.Missing = isMissing(rank, err)
	}
	if e := BcastValue(c, &f, int(lowest)); e != nil {
		return e
	}
	a := &AgreedError{RankError{Rank: rank, Alone: alone(c), Own: f.Own, Missing: f.Missing,
		Code: f.Code, Err: errors.New(f.Text)}}
	if mine == lowest {
		a.Err = err
	}
	return a
}

// alone reports whether the whole job has only one rank. It returns false for a group of one rank
// in a larger job.
func alone(c Comm) bool {
	g, ok := c.(*group)
	return ok && g.core.board.Ranks == 1
}
