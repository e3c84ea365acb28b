package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// configure reads an address, and names the place that it leads to without its password.
func configure(address string) (config *pgxpool.Config, place string, err error) {
	config, err = pgxpool.ParseConfig(address)
	if err != nil {
		// What cannot be read may have the password anywhere, so that nothing of it is shown.
		why := errors.New("want postgres://USER@HOST:PORT/DATABASE, and the password in PGPASSFILE")
		if file, is := errors.AsType[*fs.PathError](err); is {
			why = file
		}
		return nil, "postgres://…", fmt.Errorf("its address cannot be read: %w", why)
	}
	c := config.ConnConfig
	if !strings.Contains(address, "default_query_exec_mode") {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec // leaves nothing in the server's session, see docs/decisions
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = connections
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = patience / 2
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "trueup"
	}
	c.RuntimeParams["datestyle"], c.RuntimeParams["client_encoding"] = "ISO", "UTF8" // whatever the role's defaults; poolers know both
	config.MaxConnIdleTime = time.Minute
	return config, shown(c), nil
}

// shown names the database for people.
func shown(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", Path: "/" + c.Database, User: url.User(c.User)}
	if strings.HasPrefix(c.Host, "/") {
		u.RawQuery = fmt.Sprintf("host=%s&port=%d", c.Host, c.Port)
	} else {
		u.Host = fmt.Sprintf("%s:%d", c.Host, c.Port)
	}
	if schema := c.RuntimeParams["search_path"]; schema != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&search_path="+schema, "&")
	}
	return u.String()
}

// A hidden error shows no password, whatever a library puts into its text.
type hidden struct {
	error
	text string
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.error }

func (s *Store) hide(err error) error {
	if err == nil || s.pool == nil {
		return err
	}
	text, secret := err.Error(), s.pool.Config().ConnConfig.Password
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		if form != "" {
			text = strings.ReplaceAll(text, form, "…")
		}
	}
	return &hidden{err, text}
}
