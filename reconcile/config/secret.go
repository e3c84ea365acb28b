package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"trueup/reconcile"
)

// A Secret says where a secret stands: in a file of its own, or among the credentials that systemd hands to the service
// (LoadCredential=). The configuration never holds the secret itself, so nothing that prints or digests the configuration
// can give it away. A kind declares one as a field: Token config.Secret `yaml:"token"`.
type Secret struct {
	File       string `yaml:"file" path:"abs" doc:"a file that others may not read"`
	Credential string `yaml:"credential" doc:"the name of a credential of the service's unit"`
}

// IsZero tells whether no secret is declared.
func (s Secret) IsZero() bool { return s == Secret{} }

// Validate says whether it is one of the two.
func (s Secret) Validate() error {
	switch {
	case (s.File == "") == (s.Credential == ""):
		return errors.New("want one of file and credential")
	case s.Credential != "" && !reconcile.IsWord(s.Credential, "._-", 200):
		return fmt.Errorf("credential %q: want its name, of letters, digits and ._-", s.Credential)
	}
	return nil
}

// Read gives the secret, without the line break at its end. It is read anew each time, so that a secret can be exchanged
// under a running service. The errors name the place and never the content.
func (s Secret) Read() (string, error) {
	path := s.File
	if s.Credential != "" {
		dir := os.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return "", fmt.Errorf("reading credential %s: the service has none: give it LoadCredential=%s:/path", s.Credential, s.Credential)
		}
		path = filepath.Join(dir, s.Credential)
	}
	text, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("reading secret %s: %w", path, err)
	}
	return text, nil
}

func readSecret(path string) (string, error) {
	const largest = 64 << 10
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", cause(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", cause(err)
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	case info.Mode().Perm()&0o007 != 0:
		return "", errors.New("others may read it: chmod o= the file")
	}
	text, err := io.ReadAll(io.LimitReader(file, largest+1))
	switch {
	case err != nil:
		return "", cause(err)
	case len(text) > largest:
		return "", fmt.Errorf("it has more than %d KiB", largest>>10)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", errors.New("it is empty")
	}
	return secret, nil
}
