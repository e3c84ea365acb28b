package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"trueup/reconcile/config"
	"trueup/units"
)

// alarmsConfig is alarms.yaml: whom alarms are told to beside the journal, and where metrics go.
type alarmsConfig struct {
	Version int      `yaml:"version" required:"true" max:"1" doc:"the version of this format: 1"`
	Command []string `yaml:"command" doc:"the program, with its path from the root, and its arguments, that is told of each alarm that is raised or cleared"`
	Metrics string   `yaml:"metrics" path:"abs" doc:"the file that metrics are written to, for the textfile collector of node_exporter"`
}

// Validate is asked by config, which places the error at the key's line.
func (c alarmsConfig) Validate() error {
	if len(c.Command) > 0 && !filepath.IsAbs(c.Command[0]) {
		return fmt.Errorf("command: %q is no path from the root", c.Command[0])
	}
	if c.Metrics != "" && filepath.Ext(c.Metrics) != ".prom" {
		return fmt.Errorf("metrics: %q does not end in .prom, so node_exporter would not read it", c.Metrics)
	}
	return nil
}

// alarmsFile is where the configuration of alarms is looked for.
func alarmsFile(user bool) string {
	return filepath.Join(filepath.Dir(usualConfig("", user)), "alarms.yaml")
}

// loadAlarmsConfig reads the configuration; one that is not there says nothing. Where it is at fault alarms go to the
// journal all the same, and what the command has not taken yet waits.
func loadAlarmsConfig(user bool) (alarmsConfig, error) {
	file := alarmsFile(user)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) { // a link that leads nowhere is a fault
		return alarmsConfig{}, nil
	}
	return readAlarmsConfig(file, user)
}

func readAlarmsConfig(file string, user bool) (alarmsConfig, error) {
	var c alarmsConfig
	if err := config.Read(file, &c); err != nil {
		return alarmsConfig{}, err
	}
	if len(c.Command) == 0 {
		return c, nil
	}
	program := c.Command[0]
	if info, err := os.Stat(program); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return alarmsConfig{Metrics: c.Metrics}, fail(exitConfig, "", "%s: command: %s is no program", file, program)
	}
	if place, why := units.Changeable(program); !user && os.Geteuid() == 0 && why != "" {
		return alarmsConfig{Metrics: c.Metrics}, fail(exitConfig, "keep it where only root can write, as in /usr/local/sbin",
			"%s: command: root would run %s, and %s %s", file, program, place, why)
	}
	return c, nil
}
