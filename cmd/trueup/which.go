package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/reconcile/config"
)

// which is the command line's way to name an installation of the reconciler: its configuration.
type which struct {
	config string
	name   string
	user   bool
	loaded *config.Config // by this very look; nil where it is to be read
}

func (w *which) flags(c *cobra.Command) {
	c.Flags().StringVarP(&w.config, "config", "c", "", "the configuration `FILE` (/etc/trueup/trueup.yaml; with --user: ~/.config/trueup/trueup.yaml)")
	instanceFlags(c, &w.name, &w.user)
}

// named are the flags that name the installation from whatever folder, each after a space.
func (w *which) named() (flags string) {
	if w.config != "" {
		file, err := filepath.Abs(w.config)
		if err != nil {
			file = w.config
		}
		flags += " -c " + quoted(file)
	}
	if w.name != "" {
		flags += " --name " + quoted(w.name)
	}
	if w.user {
		flags += " --user"
	}
	return flags
}

// file is the configuration that is meant: the usual one, or where there is none the one that was installed.
func (w *which) file(ctx context.Context) (string, error) {
	if w.config != "" {
		return filepath.Abs(w.config)
	}
	usual := usualConfig(w.name, w.user)
	if !missingFile(usual) {
		return usual, nil
	}
	m, err := manager(ctx, w.user)
	if err != nil {
		return usual, nil // without systemd nothing was installed
	}
	defer m.Close()
	installed, err := m.InstalledConfig(w.name)
	if err != nil {
		return "", adoptError("looking for the configuration", err)
	}
	return cmp.Or(installed, usual), nil
}

// load reads the configuration.
func (w *which) load(ctx context.Context) (*config.Config, error) {
	if w.loaded != nil {
		return w.loaded, nil
	}
	file, err := w.file(ctx)
	if err != nil {
		return nil, err
	}
	c, err := loadConfig(file, w.name, w.user)
	if faults, is := errors.AsType[config.Faults](err); is && missingFile(file) {
		faults[0].Hint = beginWith(file, w.user)
	}
	return c, err
}

func missingFile(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// past wires up no more than the ledger, to tell what has happened: also where the configuration is at fault, as far as it says
// where the ledger is.
func (w *which) past(ctx context.Context, u *ui) (*site, error) {
	s, err := w.look(ctx)
	if _, faulty := errors.AsType[config.Faults](err); s != nil || !faulty {
		return s, err
	}
	file, fileErr := w.file(ctx)
	o, optionsErr := configOptions(w.name, w.user)
	if fileErr != nil || optionsErr != nil {
		return nil, err
	}
	c := config.LedgerOf(file, o)
	if c == nil && w.config == "" {
		c = &config.Config{State: filepath.Join(o.Defaults.Trigger.State, "ledger.db")} // the usual one
	}
	if c == nil {
		return nil, err
	}
	ledger, openErr := openStore(ctx, c, opening{readOnly: true})
	if openErr != nil {
		return nil, err
	}
	u.warning("the configuration is at fault, which trueup check%s tells; this is what the ledger %s has", w.again(), c.Database())
	return &site{Config: &config.Config{}, ledger: ledger}, nil
}
