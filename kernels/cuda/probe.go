package cuda

import (
	"fmt"

	"distaff/codegen/choice"
	"distaff/kernels/cuda/nvrtc"
)

// Report says which of the devices and libraries for GPU leaves this machine has, for `distaff
// doctor`. An error in a Report says what is missing or does not work.
type Report struct {
	Driver        string // path of the driver's library
	DriverVersion string // version of CUDA that the driver supports, for example "12.8"
	DriverErr     error

	Devices []Device

	NVRTC        string // path of its library
	NVRTCVersion string
	NVRTCErr     error

	Libraries []Library // the libraries that schedules can name, cuBLAS and cuSPARSE
}

// Library is a library of matrix products.
type Library struct {
	Title string // "cuBLAS"
	Path  string
	Err   error // the reason if it is not available
}

// Device is a GPU.
type Device struct {
	Index      int
	Name       string
	Memory     int64  // bytes
	Capability string // compute capability: "9.0"
	Err        error  // the reason if it cannot be used
}

// Ready returns nil if the machine has a driver, a GPU and NVRTC. Otherwise the error names the
// missing part. Like Probe, Ready makes no context.
func Ready() error {
	lib, err := openDriver(driverNames)
	if err != nil {
		return err
	}
	n, err := lib.devices()
	if err != nil {
		return err
	}
	if n == 0 {
		return &SetupError{lib.refusal(cuNoDevice)}
	}
	_, err = nvrtc.Open()
	return err
}

// Probe examines the machine. It creates no CUDA context, so it takes no GPU memory and does not
// wait for a GPU.
func Probe() Report {
	var r Report
	if c, err := nvrtc.Open(); err != nil {
		r.NVRTCErr = fmt.Errorf("%w; --target=cuda can run only kernels from the cache", err)
	} else {
		major, minor := c.Version()
		r.NVRTC, r.NVRTCVersion = c.Path(), fmt.Sprintf("%d.%d", major, minor)
	}
	for _, name := range []string{choice.CuBLAS, choice.CuSPARSE} {
		f, err := mathLibraries[name].open(name)
		r.Libraries = append(r.Libraries, Library{Title: mathLibraries[name].title, Path: f.path,
			Err: err})
	}
	lib, err := openDriver(driverNames)
	if err != nil {
		r.DriverErr = err
		return r
	}
	r.Driver, r.DriverVersion = lib.path, fmt.Sprintf("%d.%d", lib.version/1000,
		lib.version%1000/10)
	n, err := lib.devices()
	if err == nil && n == 0 {
		err = &SetupError{lib.refusal(cuNoDevice)}
	}
	r.DriverErr = err
	for k := range n {
		d, err := lib.find(k)
		r.Devices = append(r.Devices, Device{Index: k, Name: d.name, Memory: d.memory,
			Capability: fmt.Sprintf("%d.%d", d.arch/10, d.arch%10), Err: err})
	}
	return r
}
