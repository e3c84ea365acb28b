package main

import (
	"strings"

	"github.com/spf13/cobra"

	"trueup/units"
)

func hardeningVerb(u *ui) *cobra.Command {
	var user bool
	c := &cobra.Command{
		Use:   "hardening [flags] api|host",
		Short: "print a sandbox for a service",
		Long: `print a sandbox for the service: copy it to UNIT.service.d/05-hardening.conf

api is for a service that only talks to other services, host for one that changes accounts and files.
Read it before you use it: what the service writes beside trueup's folders wants a ReadWritePaths=.`,
		Example:   "  trueup hardening api >/etc/systemd/system/web-reconciler.service.d/05-hardening.conf",
		Args:      exactly(1, "api or host"),
		ValidArgs: []string{"api", "host"},
	}
	c.Flags().BoolVar(&user, "user", false, "for a unit of your own systemd --user")
	c.RunE = func(_ *cobra.Command, args []string) error {
		text := units.Hardening(user, args[0])
		if text == "" {
			return usageError("api and host are known", "hardening: unknown profile %q", args[0])
		}
		u.page(strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
		return nil
	}
	return c
}
