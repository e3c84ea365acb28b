package units

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// plain are the characters that mean themselves wherever systemd splits a line into words.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._:@+,=-"

// specifier keeps a text from being taken for a specifier: paths in [Path] are no words, but are expanded.
func specifier(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// word writes s as one word of a list of paths.
func word(s string) string {
	if strings.Trim(s, plain) == "" {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s) + `"`
}

// argument writes s as one argument of a command line, where variables are expanded too.
func argument(s string) string { return strings.ReplaceAll(word(s), "$", "$$") }

// checkPath refuses what a unit file cannot carry in a line.
func checkPath(role, path string) error {
	if strings.ContainsFunc(path, unicode.IsControl) || strings.TrimSpace(path) != path || strings.HasSuffix(path, `\`) {
		return fmt.Errorf("the %s path %q does not fit into a unit file", role, path)
	}
	return nil
}

// span writes a duration the way systemd and people do: 5min, 30s, 1500ms.
func span(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dmin", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	default:
		return fmt.Sprintf("%dms", max(d.Milliseconds(), 1))
	}
}

// flagSpan writes a duration as a flag of the gate: 5m, 30s, 1.5s.
func flagSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
