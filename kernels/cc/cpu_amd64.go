package cc

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/cpu"
)

// cpuid executes CPUID with eax and ecx.
func cpuid(eax, ecx uint32) (a, b, c, d uint32)

// xgetbv0 reads XCR0, which lists the register state that the operating system saves.
func xgetbv0() (eax, edx uint32)

// cpuIdentity returns what the instructions of -march=native depend on: vendor, family, model and
// stepping (for tuning), the feature leaves, and the register state that the operating system
// saves. It leaves out fields that differ between the cores of one machine (APIC ids).
func cpuIdentity() string {
	var out []byte
	put := func(v ...uint32) {
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, x)
		}
	}
	top, vb, vc, vd := cpuid(0, 0)
	put(vb, vc, vd)
	a, _, c, d := cpuid(1, 0)
	put(a, c, d)
	if c&(1<<27) != 0 {
		put(xgetbv0())
	}
	if top >= 7 {
		sub, b, c, d := cpuid(7, 0)
		put(b, c, d)
		for i := uint32(1); i <= min(sub, 2); i++ {
			a, b, c, d := cpuid(7, i)
			put(a, b, c, d)
		}
	}
	if top >= 0xd {
		a, _, _, _ := cpuid(0xd, 1)
		put(a)
	}
	if ext, _, _, _ := cpuid(0x80000000, 0); ext >= 0x80000001 {
		_, _, c, d := cpuid(0x80000001, 0)
		put(c, d)
		if ext >= 0x80000008 {
			_, b, _, _ := cpuid(0x80000008, 0)
			put(b)
		}
	}
	return string(out)
}

// levels returns the architecture levels of the x86-64 psABI that this CPU supports, best first.
func levels() []string {
	x := cpu.X86
	_, _, c1, _ := cpuid(1, 0)
	_, _, cx, _ := cpuid(0x80000001, 0)
	has := func(reg uint32, bit uint) bool { return reg&(1<<bit) != 0 }
	var out []string
	// LAHF
	v2 := x.HasSSE3 && x.HasSSSE3 && x.HasSSE41 && x.HasSSE42 && x.HasPOPCNT && x.HasCX16 &&
		has(cx, 0)
	v3 := v2 && x.HasAVX && x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasFMA && x.HasOSXSAVE &&
		has(c1, 29) && has(c1, 22) && has(cx, 5) // F16C, MOVBE, LZCNT
	v4 := v3 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL
	for i, ok := range []bool{v4, v3, v2} {
		if ok {
			out = append(out, Levels[i])
		}
	}
	return out
}

// CPUModel returns this CPU's vendor, family and model, numbered as in the kernel, for example
// "AuthenticAMD 25 17".
func CPUModel() string {
	_, b, c, d := cpuid(0, 0)
	vendor := binary.LittleEndian.AppendUint32(nil, b)
	vendor = binary.LittleEndian.AppendUint32(vendor, d)
	vendor = binary.LittleEndian.AppendUint32(vendor, c)
	a, _, _, _ := cpuid(1, 0)
	family, model := a>>8&0xf, a>>4&0xf
	if family == 6 || family == 0xf {
		model += a >> 16 & 0xf << 4
	}
	if family == 0xf {
		family += a >> 20 & 0xff
	}
	return fmt.Sprintf("%s %d %d", vendor, family, model)
}
