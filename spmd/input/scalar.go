package input

import (
	"strconv"
	"strings"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// parseScalar parses a number such as 2.5, -1e-3, inf, nan or 1+2i. It returns false if s is not a
// number. The type of the value is complex128 if the number has an imaginary part. It is int64 if
// want is int64 and the number is an integer of 64 bits, written without a point or an exponent. In
// all other cases it is float64.
func parseScalar(s string, want tensor.Type) (tensor.Value, bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && want == tensor.Int64 {
		return tensor.Value{Type: tensor.Int64, I: n}, true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !strings.ContainsAny(s, "_xX") {
		return tensor.Value{Type: tensor.Float64, C: complex(f, 0)}, true
	}
	// Python prints j
	if k := len(strings.TrimSuffix(s, ")")) - 1; k >= 0 && (s[k] == 'i' || s[k] == 'j') {
		if c, err := strconv.ParseComplex(s[:k]+"i"+s[k+1:], 128); err == nil {
			return tensor.Value{Type: tensor.Complex128, C: c}, true
		}
	}
	return tensor.Value{}, false
}

// scalarValue converts a Go number to a value of the same type.
func scalarValue(x any) (tensor.Value, error) {
	switch x := x.(type) {
	case int:
		return tensor.Value{Type: tensor.Int64, I: int64(x)}, nil
	case int64:
		return tensor.Value{Type: tensor.Int64, I: x}, nil
	case int32:
		return tensor.Value{Type: tensor.Int32, I: int64(x)}, nil
	case float64:
		return tensor.Value{Type: tensor.Float64, C: complex(x, 0)}, nil
	case float32:
		return tensor.Value{Type: tensor.Float32, C: complex(float64(x), 0)}, nil
	case complex128:
		return tensor.Value{Type: tensor.Complex128, C: x}, nil
	case complex64:
		return tensor.Value{Type: tensor.Complex64, C: complex128(x)}, nil
	}
	return tensor.Value{}, fault.Commandf("got a scalar of the Go type %T, want a number", x)
}

// ScalarTensor returns the value of Input.Scalar as a tensor, converted to the type want unless
// want is tensor.None. The caller closes it.
func ScalarTensor(name string, x any, want tensor.Type) (*tcs.Tensor, error) {
	v, err := scalarValue(x)
	if err != nil {
		return nil, err
	}
	s := &Source{name: name}
	if err := s.setScalar(v, want); err != nil {
		return nil, err
	}
	return tcs.Scalar(*s.Scalar), nil
}

// convertValue converts v to the type typ. It returns an error if v is complex and typ is not, or
// if typ is an integer type that cannot hold v. A value may be rounded to a narrower float.
func convertValue(v tensor.Value, typ tensor.Type) (tensor.Value, error) {
	var src, dst [16]byte
	v.Type.Store(unsafe.Pointer(&src[0]), v)
	if _, err := tcs.ConvertValues(dst[:], typ, src[:v.Type.Size()], v.Type, 1); err != nil {
		return tensor.Value{}, err
	}
	return typ.Load(unsafe.Pointer(&dst[0])), nil
}
