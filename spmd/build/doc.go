// Package build makes the leaves of a job that runs on several ranks, and has the C
// compiler run outside of processes that must not start any.
//
//	share.go   one compilation a kind of CPU: a kernels.Backend over another one
//	server.go  a child of this program that runs the compiler
package build
