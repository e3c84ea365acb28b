package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shortest is how long a secret has to be to be looked for: what is shorter would be found everywhere.
const shortest = 8

// secrets are texts that must not be recorded.
type secrets struct{ texts []string }

// secrets are the credentials that systemd passed to the service, line by line, and the values of the variables that the
// settings name. Encoded otherwise (base64, a digest) they are not recognised.
func (k *Kind) secrets(env []string) (secrets, error) {
	var s secrets
	for _, set := range env {
		if name, value, _ := strings.Cut(set, "="); slices.Contains(k.settings.Redact, name) {
			s.add(value)
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
		s.add(string(text))
	}
	return s, nil
}

func (s *secrets) add(text string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); len(l) >= shortest && !slices.Contains(s.texts, l) {
			s.texts = append(s.texts, l)
		}
	}
	slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) }) // the longer first: one may hold another
}

// hide replaces every secret.
func (s secrets) hide(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

// in tells whether a secret stands in the text.
func (s secrets) in(text string) bool {
	return slices.ContainsFunc(s.texts, func(secret string) bool { return strings.Contains(text, secret) })
}
