// Package secret keeps secrets out of what is recorded and shown.
package secret

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shortest is how long a secret has to be to be looked for: what is shorter would be found everywhere.
const shortest = 8

// Texts are texts that must not be recorded. The zero value knows none.
type Texts struct{ texts []string }

// Known are the credentials that systemd passed to the service, line by line, and the values of the named variables of an
// environment. Encoded otherwise (base64, a digest) they are not recognised.
func Known(env, names []string) (Texts, error) {
	var s Texts
	for _, set := range env {
		if name, value, _ := strings.Cut(set, "="); slices.Contains(names, name) {
			s.Add(value)
		}
	}
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return s, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, fmt.Errorf("reading the credentials, to keep them out of the records: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return s, fmt.Errorf("reading the credentials, to keep them out of the records: %w", err)
		}
		s.Add(string(text))
	}
	return s, nil
}

// Environ is this process's environment as far as commands are to have it: without what opens the database of a ledger.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(set string) bool {
		name, _, _ := strings.Cut(set, "=")
		return name == "PGPASSWORD" || name == "PGPASSFILE"
	})
}

// Add takes the lines of a text as secrets, as far as they are long enough to be told from others.
func (s *Texts) Add(text string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); len(l) >= shortest && !slices.Contains(s.texts, l) {
			s.texts = append(s.texts, l)
		}
	}
	slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) }) // the longer first: one may hold another
}

// Hide replaces every secret.
func (s Texts) Hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

// In tells whether a secret stands in the text.
func (s Texts) In(text string) bool {
	return slices.ContainsFunc(s.texts, func(secret string) bool { return strings.Contains(text, secret) })
}
