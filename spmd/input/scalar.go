package input

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// parseScalar parses a number such as 2.5, -1e-3, inf, nan or 1+2i. It returns false if s is not a
// number. The type of the value is complex128 if the number has an imaginary part. It is int64 or
// uint64 if want is this type and the number is an integer that fits it, written without a point or
// an exponent. In all other cases it is float64.
func parseScalar(s string, want tensor.Type) (tensor.Value, bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && want == tensor.Int64 {
		return tensor.Value{Type: tensor.Int64, I: n}, true
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && want == tensor.Uint64 {
		return tensor.Value{Type: tensor.Uint64, I: int64(n)}, true
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

// kinds maps Go's kinds of numbers to types.
var kinds = map[reflect.Kind]tensor.Type{reflect.Bool: tensor.Bool, reflect.Int: tensor.Int64,
	reflect.Int8: tensor.Int8, reflect.Int16: tensor.Int16, reflect.Int32: tensor.Int32,
	reflect.Int64: tensor.Int64, reflect.Uint8: tensor.Uint8, reflect.Uint16: tensor.Uint16,
	reflect.Uint32: tensor.Uint32, reflect.Uint64: tensor.Uint64, reflect.Float32: tensor.Float32,
	reflect.Float64: tensor.Float64, reflect.Complex64: tensor.Complex64,
	reflect.Complex128: tensor.Complex128}

// scalarValue converts a Go number or bool to a value of the same type.
func scalarValue(x any) (tensor.Value, error) {
	r := reflect.ValueOf(x)
	v := tensor.Value{Type: kinds[r.Kind()]}
	switch {
	case v.Type == tensor.None:
		return v, fault.Commandf("got a scalar of the Go type %T, want a number", x)
	case r.CanInt():
		v.I = r.Int()
	case r.CanUint():
		v.I = int64(r.Uint())
	case r.CanFloat():
		v.C = complex(r.Float(), 0)
	case r.CanComplex():
		v.C = r.Complex()
	case r.Bool():
		v.I = 1
	}
	return v, nil
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
