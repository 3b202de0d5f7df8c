//go:build !race

package spmd_test

const detected = false
