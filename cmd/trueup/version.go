package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func versionVerb(u *ui) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Example: "  trueup version",
		Args:    exactly(0, "nothing"),
		RunE: func(*cobra.Command, []string) error {
			u.say("%s", fullVersion())
			return nil
		},
	}
}

// fullVersion is what a bug report wants to know.
func fullVersion() string {
	return fmt.Sprintf("trueup %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
