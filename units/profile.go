package units

import "embed"

//go:embed hardening
var hardening embed.FS

// Hardening is the text of a drop-in that hardens a service, for the system's manager or a user's: api for one that
// only talks to services, host for one that changes accounts and files. There are no others: their text is empty.
func Hardening(user bool, profile string) string {
	manager := "system"
	if user {
		manager = "user"
	}
	text, err := hardening.ReadFile("hardening/" + manager + "/" + profile + ".conf")
	if err != nil {
		return ""
	}
	return string(text)
}
