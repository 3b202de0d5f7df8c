package kernels

import _ "embed"

// ABI is the text of the C header that every leaf begins with.
//
//go:embed abi.h
var ABI string
