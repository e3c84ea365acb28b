package policy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Source says where a policy comes from: exactly one of file, command, URL and query.
type Source struct {
	File    string        `yaml:"file" path:"abs" doc:"a file, which its writer replaces by renaming a new one into its place"`
	Command []string      `yaml:"command" doc:"a program and its arguments; what it prints is the document, if it exits with 0"`
	URL     string        `yaml:"url" doc:"an https address, or http on this host"`
	Query   Query         `yaml:"query" doc:"a database, and what it is asked for"`
	Redact  []string      `yaml:"redact" doc:"names of variables whose values must not be recorded with what the program complains of"`
	Timeout time.Duration `yaml:"timeout" max:"1h" doc:"how long reading may take; 30s where nothing is said"`
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// patience is how long a source may take whose Timeout is zero.
const patience = 30 * time.Second

// IsZero tells whether there is no source: the target has no policy.
func (s Source) IsZero() bool {
	return s.File == "" && len(s.Command) == 0 && s.URL == "" && s.Query.IsZero() && len(s.Redact) == 0 && s.Timeout == 0
}

// String names the source for people. Of a command it is the program only: arguments are nobody's business.
func (s Source) String() string {
	switch {
	case s.File != "":
		return s.File
	case len(s.Command) > 0:
		return s.Command[0]
	case !s.Query.IsZero():
		return "a query of " + s.Query.place()
	}
	return s.URL
}

// Validate says what is wrong with the source, all at once.
func (s Source) Validate() error {
	if s.IsZero() {
		return nil
	}
	var errs []error
	given := 0
	for _, is := range []bool{s.File != "", len(s.Command) > 0, s.URL != "", !s.Query.IsZero()} {
		if is {
			given++
		}
	}
	if given != 1 {
		errs = append(errs, errors.New("want one of file, command, url and query"))
	}
	if s.File != "" && !filepath.IsAbs(s.File) {
		errs = append(errs, fmt.Errorf("file %q is a relative path", s.File))
	}
	if len(s.Command) > 0 && !filepath.IsAbs(s.Command[0]) {
		errs = append(errs, fmt.Errorf("command has to begin with the absolute path of a program, not %q", s.Command[0]))
	}
	if len(s.Redact) > 0 && len(s.Command) == 0 {
		errs = append(errs, errors.New("redact is about what a command complains of, and there is none"))
	}
	for _, name := range s.Redact {
		if !variable.MatchString(name) {
			errs = append(errs, errors.New("redact lists what is no name of a variable; it lists names, never their values"))
		}
	}
	if s.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %s is negative", s.Timeout))
	}
	if !s.Query.IsZero() {
		errs = append(errs, s.Query.validate()...)
	}
	if s.URL != "" {
		if err := validURL(s.URL); err != nil {
			errs = append(errs, fmt.Errorf("url %w", err))
		}
	}
	return errors.Join(errs...)
}

func validURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("is no address, such as https://host/path")
	case u.User != nil:
		return errors.New("has a user in it: secrets have no place in the configuration")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("has to be https: http is for this host only, since anybody on the way could write the policy")
	}
	return fmt.Errorf("has to be https, not %s", u.Scheme)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// key is the same for sources that read the same.
func (s Source) key() string {
	parts := []string{strconv.Quote(s.File), strconv.Quote(s.URL), strconv.Quote(s.Query.SQLite), strconv.Quote(s.Query.Postgres), strconv.Quote(s.Query.SQL), s.Timeout.String()}
	for _, arg := range slices.Concat(s.Redact, []string{"--"}, s.Command) {
		parts = append(parts, strconv.Quote(arg))
	}
	return strings.Join(parts, " ")
}

// read gives the source's bytes, whole, within its time.
func (s Source) read(ctx context.Context, r *Reader) ([]byte, error) {
	limit := s.Timeout
	if limit == 0 {
		limit = patience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	switch {
	case s.File != "":
		return readFile(s.File)
	case len(s.Command) > 0:
		return readCommand(ctx, s.Command, s.Redact)
	case s.URL != "":
		return r.readURL(ctx, s.URL)
	case !s.Query.IsZero():
		return s.Query.read(ctx)
	}
	return nil, errors.New("no source is given")
}
