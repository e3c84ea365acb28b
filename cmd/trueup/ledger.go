package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/reconcile/config"
	"trueup/reconcile/sqlite"
)

func ledgerVerb(u *ui) *cobra.Command {
	c := &cobra.Command{
		Use:     "ledger VERB",
		Short:   "check, back up, export, import, move or prune the ledger",
		Long:    "check, back up, export, import, move or prune the ledger; docs/ledger.md says what is in it, and how a backup is restored",
		Example: "  trueup ledger backup /var/backups/trueup-ledger.db",
		Args:    knownVerb,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(ledgerCheckVerb(u), ledgerBackupVerb(u), ledgerExportVerb(u), ledgerImportVerb(u), ledgerMoveVerb(u), ledgerPruneVerb(u))
	return c
}

// ledgerJSON is what the verbs print with --json that make a file.
type ledgerJSON struct {
	Version int    `json:"version"`
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
}

// made tells of a file that was made.
func made(u *ui, verb, file string, asJSON bool) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if asJSON {
		return sayJSON(u, ledgerJSON{1, file, info.Size()})
	}
	u.say("%s   %s, %s", verb, file, sized(info.Size()))
	return nil
}

// notMade finds the way out where a file could not be made.
func notMade(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fail(exitState, "give another name, or move that file away", "%w", err)
	}
	return err
}

func ledgerBackupVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "copy the ledger into a new file, while everything goes on",
		Long: `copy the ledger as it is at one instant into a new file, while everything goes on

The copy is whole and synced when FILE is there. docs/ledger.md says how it is restored.`,
		Example: "  trueup ledger backup /var/backups/trueup-$(date +%F).db",
		Args:    exactly(1, "one file"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := w.look(c.Context())
		if err != nil {
			return err
		}
		defer s.close()
		file, is := s.ledger.(*sqlite.Store)
		if !is {
			return usageError(pgDump(s.Config, args[0]), "backing up: the ledger is a database of PostgreSQL, which has its own backups")
		}
		if err := file.Backup(c.Context(), args[0]); err != nil {
			return notMade(err)
		}
		return made(u, "backed up", args[0], asJSON)
	}
	return c
}

func ledgerExportVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "export [flags] [FILE]",
		Short: "write everything in the ledger as lines of JSON",
		Long: `write everything in the ledger as it is at one instant, as lines of JSON: to FILE, or where that is - or none, to
the standard output

docs/ledger.md says what the lines mean; trueup ledger import makes a ledger of them.`,
		Example: "  trueup ledger export | jq -c 'select(.events.type == \"applied\")'",
		Args:    atMostOne("file"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "with FILE, print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := w.look(c.Context())
		if err != nil {
			return err
		}
		defer s.close()
		file := cmp.Or(append(args, "-")[0], "-")
		if file == "-" {
			return s.ledger.Export(c.Context(), u.out)
		}
		err = sqlite.NewFile(file, 0o600, func(f *os.File) error { return s.ledger.Export(c.Context(), f) })
		if err != nil {
			return notMade(err)
		}
		return made(u, "exported", file, asJSON)
	}
	return c
}

func ledgerImportVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "make a new ledger of an export",
		Long: `make a new ledger of an export: of FILE, or where that is -, of the standard input

There must be none yet. It is there whole or not at all, and a line that makes no sense refuses it. Fences
go on far above those of the export, and leases end: what was held by another ledger's processes is not.`,
		Example: "  trueup ledger import ledger.jsonl",
		Args:    exactly(1, "one file"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		conf, err := w.load(c.Context())
		if err != nil {
			return err
		}
		if err := importLedger(c.Context(), conf, args[0]); err != nil {
			return err
		}
		if conf.Shared() {
			return moved(u, "imported", conf, asJSON)
		}
		return made(u, "imported", conf.Database(), asJSON)
	}
	return c
}

// makeRoom says how there comes to be no ledger at a place where there is one.
func makeRoom(c *config.Config) string {
	if c.Shared() {
		return "give the new one a schema of its own: search_path=NAME in its address, after CREATE SCHEMA NAME"
	}
	return "stop what writes to it, and move every file away whose name begins with " + quoted(c.Database())
}

func importLedger(ctx context.Context, c *config.Config, from string) error {
	input := io.Reader(os.Stdin)
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		input = f
	}
	err := importStore(ctx, c, input)
	if errors.Is(err, fs.ErrExist) {
		return fail(exitState, makeRoom(c), "%w", err)
	}
	return err
}
