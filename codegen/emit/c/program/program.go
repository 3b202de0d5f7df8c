// Package program turns leaves into stand-alone C programs. They run leaves in ways that a leaf in
// this process cannot run: with sanitizers, with allocations that fail, or in a debugger. The
// program runs one leaf. It reads the arguments from standard input and writes them, as the leaf
// left them, to standard output.
//
//	PROGRAM LEAF THREADS FAIL
//
// FAIL is the number of the allocation that fails, or 0 if none fails. With 0, the program ends
// with a message if the leaf leaks memory or releases memory that it did not allocate. With -1 the
// leaf gets no allocator, and with -2 no environment. With -3 it gets no allocator and reports its
// progress, and the program ends with a message if the last loop did not report its end.
package program

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"

	emitc "distaff/codegen/emit/c"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

//go:embed src/main.c
var main string

// Sources returns the program's files by name. Files whose names end in .c must be compiled.
func Sources(funcs ...*ir.Func) map[string]string {
	var list, table strings.Builder
	list.WriteString(emitc.Header())
	for _, f := range funcs {
		s := emitc.Symbol(f.Name)
		fmt.Fprintf(&list, "int %s(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env);\n", s)
		fmt.Fprintf(&table, "    {\"%s\", %s},\n", s, s)
	}
	fmt.Fprintf(&list,
		"static const struct {\n    const char *name;\n"+
			"    int (*leaf)(dst_tensor **, const int64_t (*)[2], dst_env *);\n} leaves[] = {\n%s};\n",
		table.String())
	return map[string]string{"main.c": main, "leaves.h": list.String(),
		"leaves.c": emitc.File(funcs...)}
}

// arrays lists the arrays of the arguments. main.c reads and writes the arrays in the same order.
func arrays(args []interp.Arg) []*interp.Array {
	var list []*interp.Array
	for k := range args {
		for l := range args[k].Levels {
			list = append(list, &args[k].Levels[l].Pos, &args[k].Levels[l].Crd)
		}
		list = append(list, &args[k].Vals)
	}
	return list
}

var elements = map[tensor.Type]reflect.Type{
	tensor.Bool: reflect.TypeFor[[]bool](), tensor.Int32: reflect.TypeFor[[]int32](),
	tensor.Int64: reflect.TypeFor[[]int64](), tensor.Int8: reflect.TypeFor[[]int8](),
	tensor.Int16: reflect.TypeFor[[]int16](), tensor.Uint8: reflect.TypeFor[[]uint8](),
	tensor.Uint16: reflect.TypeFor[[]uint16](), tensor.Uint32: reflect.TypeFor[[]uint32](),
	tensor.Uint64:  reflect.TypeFor[[]uint64](),
	tensor.Float32: reflect.TypeFor[[]float32](), tensor.Float64: reflect.TypeFor[[]float64](),
	tensor.Complex64:  reflect.TypeFor[[]complex64](),
	tensor.Complex128: reflect.TypeFor[[]complex128](),
}

// types returns the element types of all arrays after the leaf has run.
func types(f *ir.Func, args []interp.Arg) []tensor.Type {
	of := map[*interp.Array]tensor.Type{}
	for _, a := range arrays(args) {
		of[a] = tensor.Bool
		for t, slice := range elements {
			if reflect.TypeOf(a.Data) == slice {
				of[a] = t
			}
		}
	}
	ir.Walk(f.Body, func(s ir.Stmt) {
		p, ok := s.(*ir.Publish)
		if !ok {
			return
		}
		switch arg := &args[p.Slot.Arg]; p.Slot.Field {
		case ir.Pos:
			of[&arg.Levels[p.Slot.Level].Pos] = p.A.Elem
		case ir.Crd:
			of[&arg.Levels[p.Slot.Level].Crd] = p.A.Elem
		default:
			of[&arg.Vals] = p.A.Elem
		}
	})
	var list []tensor.Type
	for _, a := range arrays(args) {
		list = append(list, of[a])
	}
	return list
}

// Input returns the program's standard input: the arguments of f and the ranges of its loops.
func Input(f *ir.Func, args []interp.Arg, bounds [][2]int64) []byte {
	var b bytes.Buffer
	put := func(x any) {
		if err := binary.Write(&b, binary.LittleEndian, x); err != nil {
			panic("BUG: program: " + err.Error())
		}
	}
	elems := types(f, args)
	array := func(a interp.Array) {
		put(elems[0].Size())
		elems = elems[1:]
		if a.Data == nil {
			put([2]int64{})
			return
		}
		put(int64(reflect.ValueOf(a.Data).Len()))
		put(a.First)
		put(a.Data)
	}
	put(int64(len(args)))
	for _, arg := range args {
		put(int64(len(arg.Levels)))
		for _, l := range arg.Levels {
			put([2]int64{l.Size, l.Offset})
			array(l.Pos)
			array(l.Crd)
		}
		array(arg.Vals)
	}
	put(int64(len(bounds)))
	put(bounds)
	return b.Bytes()
}

// Outcome describes how a leaf ended.
type Outcome struct {
	Code  ir.FailCode
	Coord []int64 // the coordinates of a failure
	// Allocs is the number of allocations of the leaf. If FAIL is -3, it is the number of loops
	// that reported progress.
	Allocs int64
}

// Output parses the program's standard output. It stores the arrays, as the leaf left them, in
// args, which are the arguments that were given to Input.
func Output(text []byte, f *ir.Func, args []interp.Arg) (Outcome, error) {
	short := fmt.Errorf("the output of the compiled program ends too early")
	var o Outcome
	number := func() (n int64) {
		if len(text) < 8 {
			n, text = -1, nil
			return n
		}
		n = int64(binary.LittleEndian.Uint64(text))
		text = text[8:]
		return n
	}
	o.Code = ir.FailCode(number())
	for n := number(); n > 0; n-- {
		o.Coord = append(o.Coord, number())
	}
	o.Allocs = number()
	elems := types(f, args)
	for k, a := range arrays(args) {
		n := number()
		size := n * elems[k].Size()
		if n < 0 || size > int64(len(text)) {
			return o, short
		}
		if n == 0 && a.Data == nil {
			continue
		}
		slice := reflect.MakeSlice(elements[elems[k]], int(n), int(n))
		if err := binary.Read(bytes.NewReader(text[:size]), binary.LittleEndian,
			slice.Interface()); err != nil {
			return o, err
		}
		text = text[size:]
		a.Data = slice.Interface()
	}
	if len(text) != 0 {
		return o, fmt.Errorf("the program wrote %d bytes too many", len(text))
	}
	return o, nil
}
