package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const about = `a web app asks by touching a file; the host trues itself up

trueup gives a systemd oneshot service a prompt, safe trigger: a touch in a folder
that a container may write starts it, at most once in 30 s, and no touch is lost. Such
a service is trueup sweep itself: it keeps the targets of a configuration true.`

// helpText is cobra's, in trueup's voice.
const helpText = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{.UsageString}}`

const usageText = `usage: {{if .HasAvailableSubCommands}}{{.CommandPath}} VERB{{else}}{{.UseLine}}{{end}}
{{- if .HasAvailableSubCommands}}

verbs:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasExample}}

example:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}

{{.CommandPath}} VERB --help says more{{end}}

`

func newRoot(u *ui) *cobra.Command {
	root := &cobra.Command{
		Use:     "trueup VERB",
		Short:   "a prompt, safe trigger for a oneshot service, and a reconciler behind it",
		Long:    about,
		Example: "  sudo trueup adopt web-reconciler.service --web-group web",
		Args:    knownVerb,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },

		Version:       fullVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(u.out)
	root.SetErr(u.err)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetHelpTemplate(helpText)
	root.SetUsageTemplate(usageText)
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("see "+c.CommandPath()+" --help", "%s: %w", c.Name(), err)
	})
	root.AddCommand(
		checkVerb(u), installVerb(u), uninstallVerb(u), planVerb(u), dumpVerb(u), sweepVerb(u), tickVerb(u), pauseVerb(u), resumeVerb(u), workVerb(u), nodeVerb(u), approveVerb(u), rejectVerb(u),
		historyVerb(u), showVerb(u), logsVerb(u), configVerb(u), ledgerVerb(u),
		adoptVerb(u), unadoptVerb(u), healVerb(u), touchVerb(u), waitVerb(u), watchVerb(u), keepVerb(), statusVerb(u), pageVerb(u), alarmsVerb(u),
		doctorVerb(u), hardeningVerb(u), demoVerb(u), versionVerb(u), completionVerb(u), manVerb(),
	)
	root.CompletionOptions.DisableDefaultCmd = true
	for _, c := range root.Commands() {
		c.Flags().SortFlags = false
		c.InheritedFlags().SortFlags = false
	}
	return root
}

// durationFlag is DurationVar, and has the help show the default as people write it: 24h, and not 24h0m0s.
func durationFlag(c *cobra.Command, to *time.Duration, name string, value time.Duration, usage string) {
	c.Flags().DurationVar(to, name, value, usage)
	text := value.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-len("0s")]
		}
	}
	c.Flags().Lookup(name).DefValue = text
}

// knownVerb refuses what is no verb, and says which one was probably meant.
func knownVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	hint := c.CommandPath() + " --help lists the verbs"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	if c.HasParent() {
		return usageError(hint, "%s: unknown verb %q", c.Name(), args[0])
	}
	return usageError(hint, "unknown verb %q", args[0])
}

// atMostOne takes one argument or none.
func atMostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError("see "+c.CommandPath()+" --help", "%s: want one %s or none, got %d arguments", c.Name(), what, len(args))
		}
		return nil
	}
}

// exactly takes n arguments, and says what they are when there are not as many.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usageError("see "+c.CommandPath()+" --help", "%s: want %s, got %d arguments", c.Name(), what, len(args))
	}
}
