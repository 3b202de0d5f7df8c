// Package build makes the leaves of a job that runs on several ranks. It also runs the C compiler
// in a child process, because some processes must not start others.
//
//	share.go   one compilation for each kind of CPU: a kernels.Backend on top of another one
//	server.go  a child of this program that runs the compiler
package build
