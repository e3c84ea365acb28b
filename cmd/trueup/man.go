package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// manVerb writes the pages by hand: cobra's generator would link a Markdown parser into every start.
func manVerb() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "write the man pages into a folder",
		Args:   exactly(1, "the folder"),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			for _, page := range append(c.Root().Commands(), c.Root()) {
				if err == nil && (page.IsAvailableCommand() || page == c.Root()) {
					err = errors.Join(err, writePage(args[0], page))
				}
			}
			return err
		},
	}
}

func writePage(dir string, c *cobra.Command) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(name, c)), 0o644); err != nil {
		return fmt.Errorf("writing the man page %s: %w", name, err)
	}
	return nil
}

// manPage is one verb's help as man(7).
func manPage(name string, c *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, " \n"); text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"trueup %s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), roff(version), roff(name), roff(c.Short))
	section("SYNOPSIS", c.UseLine())
	section("DESCRIPTION", c.Long)
	if c.HasAvailableSubCommands() {
		var verbs strings.Builder
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&verbs, "%-12s%s\n", sub.Name(), sub.Short)
			}
		}
		section("VERBS", verbs.String())
	}
	section("OPTIONS", c.LocalFlags().FlagUsages())
	section("EXAMPLE", c.Example)
	if c.HasParent() {
		b.WriteString(".SH SEE ALSO\n.BR trueup (1)\n")
	}
	return b.String()
}

// roff escapes what man(7) would read as a request.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
