package cuda

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// driverNames are the names and paths of the driver's library. The first is a bare name, which the
// loader looks up.
var driverNames = []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1"}

// library is the open library of the driver and its version, for example 12080 for CUDA 12.8.
type library struct {
	fn      *C.dst_cuda
	path    string
	version int
}

// Result codes of the driver that have messages of their own.
const (
	cuOutOfMemory     = 2
	cuNoDevice        = 100
	cuNoBinary        = 209
	cuUnsupportedPTX  = 222
	cuInvalidImage    = 200
	cuSystemMismatch  = 803
	cuCompatNotOnThis = 804
)

// opened holds the open driver libraries, by the list of names that was tried. Each is opened once
// per process.
var opened struct {
	sync.Mutex
	libs map[string]*library
}

// openDriver opens and initializes the driver. The error is a *SetupError.
func openDriver(names []string) (*library, error) {
	opened.Lock()
	defer opened.Unlock()
	key := strings.Join(names, "\x00")
	if l := opened.libs[key]; l != nil {
		return l, nil
	}
	l, err := openFirst(names)
	if err != nil {
		return nil, err
	}
	if err := l.init(); err != nil {
		return nil, err
	}
	if opened.libs == nil {
		opened.libs = map[string]*library{}
	}
	opened.libs[key] = l
	return l, nil
}

// openFirst opens the first library of the list that can be opened. If none can be opened, it
// returns the error of a library that is too old, if there is one. Otherwise it returns the error
// of the first library.
func openFirst(names []string) (*library, error) {
	var first error
	for _, name := range names {
		l, err := openLibrary(name)
		if err == nil {
			return l, nil
		}
		if first == nil || errors.Is(err, errMissing) {
			first = err
		}
	}
	return nil, &SetupError{first.Error()}
}

// errMissing is the error for a library that exists but lacks a function that is needed, because
// the library is too old.
var errMissing = errors.New("too old")

func openLibrary(name string) (*library, error) {
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var why, missing *C.char
	// dlerror's text belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fn := C.dst_cuda_open(path, &why, &missing)
	if fn != nil {
		return &library{fn: fn, path: name}, nil
	}
	if missing != nil {
		return nil, fmt.Errorf(
			"the NVIDIA driver is %w: %s must have the function %s; install a later driver%s",
			errMissing, name, C.GoString(missing), insteadCPU)
	}
	defer C.free(unsafe.Pointer(why))
	return nil, fmt.Errorf(
		"no NVIDIA driver: %s cannot be opened (%s); install the driver%s", name,
		strings.TrimPrefix(C.GoString(why), name+": "), insteadCPU)
}

// init initializes the driver and reads its version.
func (l *library) init() error {
	if rc := C.cu_init(l.fn, 0); rc != 0 {
		return &SetupError{l.refusal(int(rc))}
	}
	var v C.int
	if rc := C.cu_driver_version(l.fn, &v); rc != 0 {
		return &SetupError{"the NVIDIA driver's version cannot be read: " + l.text(int(rc)) +
			insteadCPU}
	}
	l.version = int(v)
	return nil
}

// refusal returns the reason, in words, why the driver does not start. rc is the result code.
func (l *library) refusal(rc int) string {
	switch rc {
	case cuNoDevice:
		return "no GPU: the NVIDIA driver " + l.path + " finds none (CUDA_VISIBLE_DEVICES " +
			"hides GPUs that it does not list); run on a machine with a GPU" + insteadCPU
	case cuSystemMismatch, cuCompatNotOnThis:
		return "the NVIDIA driver does not start: " + l.text(rc) + ": its library " + l.path +
			" has another version than the kernel's module; restart the machine after an " +
			"update of the driver" + insteadCPU
	}
	return "the NVIDIA driver does not start: " + l.text(rc) + fmt.Sprintf(" (%d)", rc) + insteadCPU
}

// text returns the driver's description of a result code.
func (l *library) text(rc int) string {
	var name, text *C.char
	C.cu_error_name(l.fn, C.int(rc), &name)
	C.cu_error_text(l.fn, C.int(rc), &text)
	switch {
	case text != nil && name != nil:
		return C.GoString(text) + " (" + C.GoString(name) + ")"
	case text != nil:
		return C.GoString(text)
	}
	return fmt.Sprintf("error %d", rc)
}

func (l *library) devices() (int, error) {
	var n C.int
	if rc := C.cu_device_count(l.fn, &n); rc != 0 && rc != cuNoDevice {
		return 0, &SetupError{"the NVIDIA driver's devices cannot be listed: " + l.text(int(rc)) +
			insteadCPU}
	}
	return int(n), nil
}

// Attributes of devices.
const (
	attributeMajor = 75
	attributeMinor = 76
)

// find returns the description of a device.
func (l *library) find(index int) (d description, err error) {
	var dev C.dst_cu_device
	if rc := C.cu_device_get(l.fn, &dev, C.int(index)); rc != 0 {
		return d, &SetupError{fmt.Sprintf("GPU %d cannot be opened: %s%s", index, l.text(int(rc)),
			insteadCPU)}
	}
	var name [256]C.char
	var total C.size_t
	if rc := C.cu_device_name(l.fn, &name[0], C.int(len(name)), dev); rc != 0 {
		return d, &SetupError{fmt.Sprintf("the name of GPU %d cannot be read: %s%s", index,
			l.text(int(rc)), insteadCPU)}
	}
	if rc := C.cu_device_total(l.fn, &total, dev); rc != 0 {
		total = 0
	}
	major, minor := l.attribute(dev, attributeMajor), l.attribute(dev, attributeMinor)
	return description{name: C.GoString(&name[0]), arch: 10*major + minor, index: index,
		memory: int64(total)}, nil
}

// attribute returns a numeric attribute of a device, or 0 if the driver does not report it.
func (l *library) attribute(dev C.dst_cu_device, which C.int) int {
	var v C.int
	if C.cu_device_attribute(l.fn, &v, which, dev) != 0 {
		return 0
	}
	return int(v)
}
