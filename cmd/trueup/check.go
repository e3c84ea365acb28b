package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile/config"
)

func checkVerb(u *ui) *cobra.Command {
	var w which
	var alarms, asJSON bool
	c := &cobra.Command{
		Use:   "check [flags]",
		Short: "read the configuration, and say everything that is wrong with it",
		Long: `read the configuration as a sweep does, and say everything that is wrong with it; it exits 78 then

With --alarms it reads alarms.yaml as the next look for alarms would, or the FILE of -c as if it stood there.`,
		Example: "  trueup check -c trueup.yaml",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().BoolVar(&alarms, "alarms", false, "read the configuration of alarms, alarms.yaml")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		said, targets, err := w.wellFormed(c.Context(), u, alarms)
		if faults, ok := errors.AsType[config.Faults](err); ok && asJSON {
			if err := sayJSON(u, checkJSON{Version: 1, Faults: faultsDocument(faults)}); err != nil {
				return err
			}
			return &failure{code: exitConfig}
		}
		if err != nil {
			return err
		}
		if asJSON {
			return sayJSON(u, checkJSON{1, targets, faultsDocument(nil)})
		}
		u.say("well formed: %s", said)
		return nil
	}
	return c
}

// wellFormed reads the configuration, or that of alarms, and says in a word what it has.
func (w *which) wellFormed(ctx context.Context, u *ui, alarms bool) (said string, targets int, err error) {
	if !alarms {
		conf, err := w.load(ctx)
		if err != nil {
			return "", 0, err
		}
		if host := conf.Plain(); host != "" {
			u.warning("%s; %s", plainWarning(host), plainHint)
		}
		if local := conf.Local(); len(local) > 0 {
			u.warning("%s; %s", localWarning(local), localHint)
		}
		return counted(len(conf.Targets), "target"), len(conf.Targets), nil
	}
	if w.name != "" {
		return "", 0, usageError("leave one of them out", "check: --alarms is about all instances, and --name names one")
	}
	file := cmp.Or(w.config, alarmsFile(w.user))
	if file, err = filepath.Abs(file); err != nil {
		return "", 0, err
	}
	conf, err := readAlarmsConfig(file, w.user)
	if err != nil {
		return "", 0, err
	}
	if len(conf.Command) == 0 {
		return "alarms go to the journal alone", 0, nil
	}
	return "alarms go to the journal and to " + printable(conf.Command[0]), 0, nil
}

// checkJSON is what check --json prints.
type checkJSON struct {
	Version int         `json:"version"`
	Targets int         `json:"targets"` // how many; 0 where there are faults, and with --alarms
	Faults  []faultJSON `json:"faults"`
}

type faultJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; none where the fault is the whole file's
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func faultsDocument(faults config.Faults) []faultJSON {
	d := make([]faultJSON, len(faults))
	for i, f := range faults {
		d[i] = faultJSON(*f)
	}
	return d
}

func configVerb(u *ui) *cobra.Command {
	c := &cobra.Command{
		Use:   "config VERB",
		Short: "show the configuration that holds, or its schema",
		Args:  knownVerb,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(configShowVerb(u), configSchemaVerb(u))
	return c
}

func configShowVerb(u *ui) *cobra.Command {
	var w which
	var origin, asJSON bool
	c := &cobra.Command{
		Use:     "show [flags]",
		Short:   "print the configuration that holds, defaults included",
		Long:    "print the configuration that holds, defaults included; of secrets it shows where they stand, never what they are",
		Example: "  trueup config show --origin",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().BoolVar(&origin, "origin", false, "say where each value was given: file and line, or default")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if origin && asJSON {
			return usageError("leave one of them out", "show: --origin is for people, and has no form in JSON")
		}
		conf, err := w.load(c.Context())
		if err != nil {
			return err
		}
		if asJSON {
			document, err := conf.JSON()
			if err != nil {
				return err
			}
			return sayJSON(u, document)
		}
		text, err := conf.Show(origin)
		if err != nil {
			return err
		}
		u.page(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
		return nil
	}
	return c
}

func configSchemaVerb(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "print the configuration's JSON schema, for editors",
		Example: "  trueup config schema >trueup.schema.json",
		Args:    exactly(0, "nothing"),
		RunE: func(*cobra.Command, []string) error {
			o, err := configOptions("", false)
			if err != nil {
				return err
			}
			_, err = u.out.Write(config.Schema(o))
			return err
		},
	}
}
