package text

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"distaff/io/tensor"
)

// blank reports whether c is white space within a line.
func blank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'
}

// slack is the number of bytes that must follow a text that is parsed, because digits are read
// eight at a time. The values of these bytes do not matter.
const slack = 8

// load8 reads the eight bytes at b[i:] as a little-endian number. All machines that Distaff
// supports are little-endian.
func load8(b []byte, i int) uint64 { return *(*uint64)(unsafe.Pointer(&b[i])) }

// digits8 converts the decimal digits at the start of eight bytes. The lowest byte of u is the
// first character. It returns the number n of digits and their value v; if n is 0, v has no
// meaning. The function has no branch, because branches on the lengths of numbers are hard to
// predict.
func digits8(u uint64) (v uint64, n int) {
	const ones = 0x0101010101010101
	u ^= '0' * ones
	// The top bit of the first byte that is above 9 is the lowest one set;
	// a carry can only reach bytes after it.
	z := bits.TrailingZeros64((u+0x76*ones|u)&(0x80*ones)) &^ 7
	u <<= uint(-z) & 63 // as if there were leading zeros
	u = (u*10 + u>>8) & 0x00ff00ff00ff00ff
	u = (u*100 + u>>16) & 0x0000ffff0000ffff
	return (u*10000 + u>>32) & 0xffffffff, z >> 3
}

// pow10 contains the powers of ten that callers of digits8 need. With 16 elements, an index that is
// masked with 15 needs no bounds check.
var pow10 = [16]uint64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000}

// scanDecimal scans a decimal number at b[i:]. The number is man * 10^exp, negated if neg is true.
// next is the index of the byte after the number. A newline must follow the number somewhere, and
// slack bytes must follow the newline.
//
// scanDecimal does not support all numbers, for example infinities and most numbers of more than 19
// digits. The caller must use strconv instead if ok is false, or if next is not the end of the
// word. In the hexadecimal number 0x10, for example, next is the index of the 'x'.
func scanDecimal(b []byte, i int) (man uint64, exp int, neg bool, next int, ok bool) {
	c := b[i]
	if c == '-' {
		neg = true
		i++
	} else if c == '+' {
		i++
	}
	start := i
	for {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		man = man*10 + uint64(d)
		i++
	}
	digits := i - start
	if b[i] == '.' {
		i++
		frac := i
		for {
			v, n := digits8(load8(b, i))
			if n == 0 {
				break
			}
			man = man*pow10[n&15] + v
			if i += n; n < 8 {
				break
			}
		}
		exp = frac - i
		digits += i - frac
	}
	if digits == 0 {
		return 0, 0, false, i, false
	}
	if digits > 19 && !fewDigits(b[start:i]) {
		return 0, 0, false, i, false
	}
	if b[i]&^0x21 == 'D' { // e, E, or Fortran's d, D
		i++
		eneg := false
		if b[i] == '-' {
			eneg = true
			i++
		} else if b[i] == '+' {
			i++
		}
		first := i
		e := 0
		for {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			e = e*10 + int(d)
			i++
		}
		if i == first || i-first > 8 {
			return 0, 0, false, i, false
		}
		if eneg {
			e = -e
		}
		exp += e
	}
	return man, exp, neg, i, true
}

// fewDigits reports whether b has at most 19 digits from its first non-zero digit, so that they
// fit a uint64. b consists of digits and at most one point.
func fewDigits(b []byte) bool {
	n := 0
	for _, c := range b {
		if c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n <= 19
}

// tens contains the powers of ten that a float64 represents exactly. fives contains the powers of
// five that fit a uint64. recip[n], for n > 0, is a 128-bit reciprocal of 5^n, high word first. It
// is scaled so that its top bit is set: 2^(127+L) / 5^n, rounded down, where L is the number of
// bits of 5^n.
var (
	tens  [23]float64
	fives [28]uint64
	recip [28][2]uint64
)

func init() {
	tens[0], fives[0] = 1, 1
	for i := 1; i < len(tens); i++ {
		tens[i] = tens[i-1] * 10
	}
	for i := 1; i < len(fives); i++ {
		d := fives[i-1] * 5
		hi, r := bits.Div64(1<<(bits.Len64(d)-1), 0, d)
		lo, _ := bits.Div64(r, 0, d)
		fives[i], recip[i] = d, [2]uint64{hi, lo}
	}
}

// makeFloat64 rounds man * 10^exp to the nearest float64, ties to even. ok is false if the
// function does not support the exponent.
func makeFloat64(man uint64, exp int, neg bool) (f float64, ok bool) {
	switch {
	case man <= 1<<53 && exp >= -22 && exp <= 22:
		// One operation on two exact operands rounds once (Clinger 1990).
		f = float64(man)
		if exp < 0 {
			f /= tens[-exp]
		} else if exp > 0 {
			f *= tens[exp]
		}
		if neg {
			f = -f
		}
		return f, true
	case man == 0:
		if neg {
			return math.Copysign(0, -1), true
		}
		return 0, true
	case exp < -27 || exp > 27:
		return 0, false
	}
	w, e, sticky := scale(man, exp)
	m, rest := w>>11, w&(1<<11-1)
	if rest > 1<<10 || rest == 1<<10 && (sticky || m&1 == 1) {
		m++
		if m == 1<<53 {
			m >>= 1
			e++
		}
	}
	u := m&(1<<52-1) | uint64(e+63+1023)<<52
	if neg {
		u |= 1 << 63
	}
	return math.Float64frombits(u), true
}

// makeFloat32 is like makeFloat64, for float32. It rounds the decimal number only once.
func makeFloat32(man uint64, exp int, neg bool) (f float32, ok bool) {
	if man == 0 {
		if neg {
			return float32(math.Copysign(0, -1)), true
		}
		return 0, true
	}
	if exp < -27 || exp > 27 {
		return 0, false
	}
	w, e, sticky := scale(man, exp)
	m, rest := w>>40, w&(1<<40-1)
	if rest > 1<<39 || rest == 1<<39 && (sticky || m&1 == 1) {
		m++
		if m == 1<<24 {
			m >>= 1
			e++
		}
	}
	biased := e + 63 + 127
	if biased < 1 || biased > 254 {
		return 0, false
	}
	u := uint32(m)&(1<<23-1) | uint32(biased)<<23
	if neg {
		u |= 1 << 31
	}
	return math.Float32frombits(u), true
}

// scale converts man * 10^exp to binary, so that it can be rounded to a float. The result is
// (w + f) * 2^e, where 0 <= f < 2, and f < 1 if w is odd. The top bit of w is set. scale does not
// return the remainder f, but sticky reports whether f > 0. scale requires man > 0 and |exp| <= 27.
//
// scale multiplies by the exact power of five, or by its reciprocal, in 128 bits. It divides by the
// power if the reciprocal is not precise enough. It adds the power of two to the exponent.
func scale(man uint64, exp int) (w uint64, e int, sticky bool) {
	if exp >= 0 {
		hi, lo := bits.Mul64(man, fives[exp])
		e = exp
		if hi == 0 {
			s := bits.LeadingZeros64(lo)
			return lo << s, e - s, false
		}
		s := bits.LeadingZeros64(hi)
		w = hi<<s | lo>>(64-s) // in Go, a shift by 64 is 0
		return w, e + 64 - s, lo<<s != 0
	}
	d := fives[-exp]
	s1, s2 := bits.LeadingZeros64(man), bits.LeadingZeros64(d)
	m := man << s1
	// The product with the reciprocal is less than the quotient, by less than 2 in its second
	// word. If an error in the second word cannot carry into the first word, and the second
	// word is not 0, the first word and the sticky bit are correct.
	h1, l1 := bits.Mul64(m, recip[-exp][0])
	h0, _ := bits.Mul64(m, recip[-exp][1])
	lo, carry := bits.Add64(l1, h0, 0)
	if h1 += carry; lo != 0 && lo < math.MaxUint64-1 {
		s := bits.LeadingZeros64(h1)
		return h1<<s | lo>>(64-s), 1 - s1 - (64 - s2) + exp - s, true
	}
	// m * 2^63 / (d * 2^s2) is in (2^62, 2^64). The high word of the dividend is less than the
	// divisor.
	q, r := bits.Div64(m>>1, m<<63, d<<s2)
	s := bits.LeadingZeros64(q)
	return q << s, -63 - s1 + s2 + exp - s, r != 0
}

// errRange means that a number is too large for its type, errSyntax that the text is not a
// number, and errWhole that the number is not an integer.
var (
	errRange  = errors.New("out of range")
	errSyntax = errors.New("no number")
	errWhole  = errors.New("not an integer")
)

// slowFloat parses all of tok with strconv.ParseFloat. It also accepts Fortran's exponents
// (1.5D+03). size is 32 or 64.
func slowFloat(tok []byte, size int) (float64, error) {
	// strconv accepts Go's underscores, which no file format allows.
	if len(tok) == 0 || bytes.IndexByte(tok, '_') >= 0 {
		return 0, errSyntax
	}
	f, err := strconv.ParseFloat(unsafe.String(&tok[0], len(tok)), size)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, errRange
		}
		if isNaN(tok) {
			return math.NaN(), nil
		}
		if k := bytes.IndexAny(tok, "dD"); k > 0 && !bytes.ContainsAny(tok, "eExX") {
			tok = bytes.Clone(tok)
			tok[k] = 'e'
			return slowFloat(tok, size)
		}
		return 0, errSyntax
	}
	return f, nil
}

// isNaN reports whether tok is a NaN as C prints it, such as -nan or nan(0x8000000000000). strconv
// accepts NaNs only without a sign and without parentheses.
func isNaN(tok []byte) bool {
	if tok[0] == '-' || tok[0] == '+' {
		tok = tok[1:]
	}
	if n := len(tok); n > 4 && tok[3] == '(' && tok[n-1] == ')' {
		tok = tok[:3]
	}
	return bytes.EqualFold(tok, []byte("nan"))
}

// IsNumber reports whether tok is a number, even if it is too large for every type.
func IsNumber(tok []byte) bool {
	_, err := slowFloat(tok, 64)
	return err != errSyntax
}

// Int64 parses all of tok: an optional sign and decimal digits.
func Int64(tok []byte) (int64, error) {
	digits := tok
	if len(tok) > 0 && (tok[0] == '-' || tok[0] == '+') {
		digits = tok[1:]
	}
	if len(digits) == 0 {
		return 0, errSyntax
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errSyntax
		}
	}
	v, err := strconv.ParseInt(unsafe.String(&tok[0], len(tok)), 10, 64)
	if err != nil {
		return 0, errRange
	}
	return v, nil
}

// Whole reports whether tok is a non-negative integer in the syntax of Integer, with any number
// of digits.
func Whole(tok []byte) bool {
	_, err := Integer(tok)
	return (err == nil || err == errRange) && tok[0] != '-'
}

// Size parses all of tok as the size of a mode, in the syntax of Integer. Its error does not name
// the file and the line of tok, which the caller must add.
func Size(tok []byte) (int64, error) {
	if v, err := Integer(tok); err == nil {
		return v, tensor.CheckSize(v)
	}
	return tensor.ParseSize(string(tok))
}

// Integer parses an integer that may be written with a point or an exponent: 3, 3.0, 30e-1.
func Integer(tok []byte) (int64, error) {
	if v, err := Int64(tok); err != errSyntax {
		return v, err
	}
	if _, err := slowFloat(tok, 64); err == errSyntax {
		return 0, errSyntax
	}
	sign, rest := byte('+'), tok
	if rest[0] == '-' || rest[0] == '+' {
		sign, rest = rest[0], rest[1:]
	}
	mant, exp := rest, 0
	if i := bytes.IndexAny(rest, "eEdD"); i >= 0 {
		e, err := Int64(rest[i+1:])
		if err != nil || e > 1<<20 || e < -1<<20 {
			return 0, errWhole
		}
		mant, exp = rest[:i], int(e)
	}
	digits := make([]byte, 1, 32)
	digits[0] = sign
	point := false
	for _, c := range mant {
		switch {
		case c == '.':
			point = true
			continue
		case c < '0' || c > '9': // infinities and hexadecimals
			return 0, errWhole
		}
		if point {
			exp--
		}
		digits = append(digits, c)
	}
	for exp < 0 && len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits, exp = digits[:len(digits)-1], exp+1
	}
	digits = append(digits[:1], bytes.TrimLeft(digits[1:], "0")...)
	switch {
	case len(digits) == 1:
		return 0, nil
	case exp < 0:
		return 0, errWhole
	case len(digits)+exp > 20:
		return 0, errRange
	}
	for ; exp > 0; exp-- {
		digits = append(digits, '0')
	}
	return Int64(digits)
}
