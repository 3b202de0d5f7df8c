package cuda

/*
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"distaff/kernels"
)

// image is a module that the driver has loaded.
type image struct {
	d         *driver
	handle    C.dst_cu_handle
	functions map[string]C.dst_cu_handle
}

// load gives the driver a cubin, or PTX with a zero byte at its end.
func (d *driver) load(code []byte, what string) (module, error) {
	m := &image{d: d, functions: map[string]C.dst_cu_handle{}}
	// The driver needs aligned memory.
	mem := C.CBytes(code)
	defer C.free(mem)
	var handle C.dst_cu_handle
	rc := C.cu_module_load(d.lib.fn, &handle, mem, 0, nil, nil)
	switch rc {
	case 0:
		m.handle = handle
		return m, nil
	case cuNoBinary, cuUnsupportedPTX, cuInvalidImage:
		return nil, &kernels.LoadError{What: what,
			Err: fmt.Errorf(
				"the NVIDIA driver, which is for CUDA %d.%d, cannot load code from this "+
					"NVRTC: %s; install either a later driver or an NVRTC of the driver's "+
					"version (scripts/install-nvrtc.sh)",
				d.lib.version/1000, d.lib.version%1000/10,
				d.lib.text(int(rc)))}
	}
	return nil, &kernels.LoadError{What: what, Err: d.check(rc, "cuModuleLoadDataEx")}
}

func (m *image) function(name string) (C.dst_cu_handle, error) {
	if f := m.functions[name]; f != nil {
		return f, nil
	}
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	var f C.dst_cu_handle
	if rc := C.cu_module_function(m.d.lib.fn, &f, m.handle, s); rc != 0 {
		return nil, &kernels.LoadError{What: name, Err: m.d.check(rc, "cuModuleGetFunction")}
	}
	m.functions[name] = f
	return f, nil
}

func (m *image) unload() error {
	defer runtime.KeepAlive(m)
	return m.d.check(C.cu_module_unload(m.d.lib.fn, m.handle), "cuModuleUnload")
}
