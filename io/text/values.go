package text

import (
	"strconv"
	"unsafe"

	"distaff/io/tensor"
)

// StoreNumber parses the number buf[i:end] and stores it as value n of vals, whose type is typ. If
// typ is complex, k selects the part of the value: 0 is the real part and 1 the imaginary part.
// Storing the real part sets the imaginary part to 0. If integer is true, the number must be an
// integer, because the file declares integers. buf[end] must not continue the number, and eight
// bytes must be readable from there. NumberError converts the error to a message.
func StoreNumber(vals []byte, typ tensor.Type, integer bool, n, k int, buf []byte, i,
	end int) error {
	tok := buf[i:end]
	if len(tok) == 0 {
		return errSyntax
	}
	single, size := typ == tensor.Float32 || typ == tensor.Complex64, 64
	if single {
		size = 32
	}
	if integer {
		v, err := integerOf(tok, typ, Int64)
		if err == errRange && !typ.HoldsInts() {
			f, err := slowFloat(tok, size)
			put(vals, typ, n, k, f, 0)
			return err
		} else if err != nil {
			return err
		}
		if single {
			// Convert directly: a float64 in between would round twice.
			put(vals, typ, n, k, float64(float32(v)), 0)
			return nil
		}
		put(vals, typ, n, k, float64(v), v)
		return nil
	}
	if typ.HoldsInts() {
		v, err := integerOf(tok, typ, Integer)
		if err == nil {
			put(vals, typ, n, k, 0, v)
		}
		return err
	}
	if man, exp, neg, next, ok := scanDecimal(buf, i); ok && next == end {
		if single {
			if f, ok := makeFloat32(man, exp, neg); ok {
				put(vals, typ, n, k, float64(f), 0)
				return nil
			}
		} else if f, ok := makeFloat64(man, exp, neg); ok {
			put(vals, typ, n, k, f, 0)
			return nil
		}
	}
	f, err := slowFloat(tok, size)
	if err == nil {
		put(vals, typ, n, k, f, 0)
	}
	return err
}

// integerOf parses all of tok by the function parse. It returns errRange for an integer that does
// not fit typ, if typ is an integer type or Bool.
func integerOf(tok []byte, typ tensor.Type, parse func([]byte) (int64, error)) (int64, error) {
	v, err := parse(tok)
	switch {
	case err == errRange && typ == tensor.Uint64:
		if u, e := strconv.ParseUint(string(tok), 10, 64); e == nil {
			return int64(u), nil
		}
	case err == nil && typ != tensor.Int64 && typ.HoldsInts() &&
		!(tensor.Value{Type: tensor.Int64, I: v}).FitsInt(typ):
		return 0, errRange
	}
	return v, err
}

// PutOne stores 1, the value of an entry of a pattern, as value n of vals.
func PutOne(vals []byte, typ tensor.Type, n int) { put(vals, typ, n, 0, 1, 1) }

// put stores a number as part k of value n: v if typ is an integer type or Bool, and otherwise f.
func put(vals []byte, typ tensor.Type, n, k int, f float64, v int64) {
	p := unsafe.Pointer(&vals[n*int(typ.Size())])
	switch typ {
	case tensor.Float64:
		*(*float64)(p) = f
	case tensor.Float32:
		*(*float32)(p) = float32(f)
	case tensor.Int64:
		*(*int64)(p) = v
	case tensor.Complex128:
		q := (*[2]float64)(p)
		if k == 0 {
			q[1] = 0
		}
		q[k] = f
	case tensor.Complex64:
		q := (*[2]float32)(p)
		if k == 0 {
			q[1] = 0
		}
		q[k] = float32(f)
	default:
		typ.Store(p, tensor.Value{Type: typ, I: v})
	}
}

// NumberError returns an *Error that says what is wrong with the number tok. err is the error that
// StoreNumber returned for tok. file, line and col are the place of tok.
func NumberError(file string, line, col int, tok []byte, typ tensor.Type, integer bool,
	err error) *Error {
	switch {
	case err == errSyntax && integer:
		return Dataf(file, line, col, "got %s, want an integer", Quote(tok))
	case err == errSyntax:
		return Dataf(file, line, col, "got %s, want a number", Quote(tok))
	case err == errWhole:
		return Commandf(file, line, col, "got %s, want an integer: the type asked for is %s",
			Quote(tok), typ)
	case typ == tensor.Float64 || typ == tensor.Complex128:
		return Dataf(file, line, col, "got %s, want a number that %s can hold", Quote(tok), typ)
	}
	return Commandf(file, line, col, "got %s, want a number that %s, the type asked for, can hold",
		Quote(tok), typ)
}
