package httpapi

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"trueup/reconcile/secret"
)

// Bounds where an API says nothing else.
const (
	patience = 30 * time.Second // of one call
	largest  = 32 << 20         // bytes of one answer
	shortest = 200 * time.Millisecond
)

// Options say which API it is.
type Options struct {
	Base string // the address below which all calls go: https://host/path, or http on this host
	CA   string // a file of certificates in PEM that are trusted instead of the system's; none when empty
}

// An API is the way to one server. It keeps connections, and answers that may be asked for again, and may be used by many
// goroutines at once.
type API struct {
	base *url.URL
	wire http.RoundTripper
	kept *shelf
	wait func(attempt int) time.Duration
}

// New prepares the way; it calls nobody.
func New(o Options) (*API, error) {
	if err := ValidBase(o.Base); err != nil {
		return nil, err
	}
	base, err := url.Parse(o.Base)
	if err != nil {
		return nil, err
	}
	wire := http.DefaultTransport.(*http.Transport).Clone()
	wire.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	wire.ForceAttemptHTTP2 = true
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates that are trusted: %w", err)
		}
		wire.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !wire.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", o.CA)
		}
	}
	return &API{base: base, wire: wire, kept: newShelf(), wait: jitter}, nil
}

// ValidBase tells what is wrong with an address.
func ValidBase(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("is no address, such as https://host")
	case u.User != nil:
		return errors.New("has a user in it: secrets have no place in the configuration")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("has to be https: over http, which is for this host only, anybody on the way could read the token")
	}
	return fmt.Errorf("has to be https, not %s", u.Scheme)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// A Caller is who calls, and for how long.
type Caller struct {
	Token    string            // sent as "Authorization: token TOKEN"
	ID       string            // begins the ids of the requests; the run, where there is one
	Log      func(text string) // is told each write, without secrets; nil tells nobody
	Patience time.Duration     // of one call; half a minute when zero
	Hide     secret.Texts      // what must not be told beside the token
}

// Client makes the client of one caller. Its errors carry a *StatusError, a *reconcile.NotBeforeError, or the connection's own.
func (a *API) Client(c Caller) *http.Client {
	c.Patience = cmp.Or(c.Patience, patience)
	c.Hide.Add(c.Token)
	if c.Log == nil {
		c.Log = func(string) {}
	}
	return &http.Client{Transport: &transport{api: a, caller: c}}
}
