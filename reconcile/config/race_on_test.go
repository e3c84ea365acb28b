//go:build race

package config_test

// slower is by how much the race detector slows the reader down.
const slower = 10
