package main

import "github.com/spf13/cobra"

func completionVerb(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "print the completions for a shell",
		Example:   "  trueup completion bash >/usr/share/bash-completion/completions/trueup",
		Args:      exactly(1, "bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(u.out, true)
			case "zsh":
				return c.Root().GenZshCompletion(u.out)
			case "fish":
				return c.Root().GenFishCompletion(u.out, true)
			}
			return usageError("bash, zsh and fish are known", "completion: unknown shell %q", args[0])
		},
	}
}
