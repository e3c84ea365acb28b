package forgejo

import (
	"errors"
	"fmt"

	"trueup/reconcile/config"
	"trueup/reconcile/httpapi"
)

// Settings are a target's own keys in the configuration.
type Settings struct {
	URL     string        `yaml:"url" required:"true" doc:"the server's address: https, or http on this host"`
	Token   config.Secret `yaml:"token" required:"true" doc:"an access token of an administrator's account: {file: /path} or {credential: NAME}"`
	CA      string        `yaml:"ca" path:"abs" doc:"a file with the certificates that are trusted, in PEM; the system's without it"`
	Protect []string      `yaml:"protect" doc:"logins that are never suspended, deleted or removed from owners, beside the token's own"`
}

// Validate says everything that is wrong with the settings; each error begins with the key that it is about.
func (s *Settings) Validate() error {
	var wrong []error
	if err := httpapi.ValidBase(s.URL); err != nil {
		wrong = append(wrong, fmt.Errorf("url %w", err))
	}
	for _, login := range s.Protect {
		if !logins.fits(login) {
			wrong = append(wrong, fmt.Errorf("protect lists %q, which is no login", login))
		}
	}
	return errors.Join(wrong...)
}
