//go:build !race

package config_test

const slower = 1
