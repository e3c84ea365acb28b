// Package flags is a kind to begin with: it keeps the flags of a small web service as a document says. docs/targets/new-kind.md
// goes through it.
package flags

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/httpapi"
	"trueup/reconcile/plan"
)

// Settings are a target's own keys in the configuration.
type Settings struct {
	URL   string        `yaml:"url" required:"true" doc:"the service's address"`
	Token config.Secret `yaml:"token" required:"true" doc:"who may set flags"`
}

// Validate says what is wrong with the settings; each error begins with the key that it is about.
func (s *Settings) Validate() error {
	if err := httpapi.ValidBase(s.URL); err != nil {
		return fmt.Errorf("url %w", err)
	}
	return nil
}

// Document is the policy: all flags that there are to be, with their values.
type Document struct {
	Flags map[string]string `yaml:"flags" required:"true" doc:"all flags"`
}

// Kind keeps one service.
type Kind struct {
	settings Settings
	source   string
	api      *httpapi.API
}

// Seen is what is so, and what is wanted.
type Seen struct{ Have, Want map[string]string }

// New gives the kind for one target, whose settings are valid. The source names the policy in what is wrong with it.
func New(s Settings, source string) (*Kind, error) {
	api, err := httpapi.New(httpapi.Options{Base: s.URL})
	return &Kind{s, source, api}, err
}

// Observe reads the policy and the service, and writes nothing. What it cannot read is unknown, never empty.
func (k *Kind) Observe(ctx context.Context, in plan.Input) (seen Seen, err error) {
	var document Document
	if err = config.Decode(k.source, in.Policy.Data, &document); err == nil {
		seen.Want = document.Flags
		err = k.call(ctx, in, http.MethodGet, "/flags", nil, &seen.Have)
	}
	if err == nil && seen.Have == nil {
		err = fmt.Errorf("the service answers without flags")
	}
	if err != nil && ctx.Err() == nil {
		err = &reconcile.UnknownError{Err: err}
	}
	return seen, err
}

// Plan compares. It does nothing else, and gives each change the same id whenever it is wanted.
func (k *Kind) Plan(_ plan.Input, seen Seen) (p reconcile.Plan, err error) {
	for _, name := range slices.Sorted(maps.Keys(seen.Want)) {
		want := seen.Want[name]
		have, is := seen.Have[name]
		switch {
		case !is:
			p = append(p, reconcile.Change{ID: name, Op: reconcile.Create, Text: "flag " + name + " = " + want, Data: want})
		case have != want:
			p = append(p, reconcile.Change{ID: name, Op: reconcile.Update, Text: "flag " + name + " = " + want + ", not " + have, Data: want})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen.Have)) {
		if _, stays := seen.Want[name]; !stays {
			p = append(p, reconcile.Change{ID: name, Op: reconcile.Remove, Text: "flag " + name})
		}
	}
	return p, nil
}

// Apply does one change. It is idempotent: the same again changes nothing, so that no change need be marked Once. Where the
// answer was lost the service says what is so.
func (k *Kind) Apply(ctx context.Context, in plan.Input, _ Seen, c reconcile.Change) error {
	method, body := http.MethodPut, io.Reader(bytes.NewReader([]byte(c.Data)))
	if c.Op == reconcile.Remove {
		method, body = http.MethodDelete, nil
	}
	err := k.call(ctx, in, method, "/flags/"+url.PathEscape(c.ID), body, nil)
	if c.Op == reconcile.Remove && httpapi.Is(err, http.StatusNotFound) {
		return nil // gone already
	}
	if !httpapi.Unclear(err) || ctx.Err() != nil {
		return err
	}
	now, unread := k.Observe(ctx, in)
	wanted, _ := k.Plan(in, now)
	if unread != nil || slices.ContainsFunc(wanted, func(w reconcile.Change) bool { return w.ID == c.ID }) {
		return err
	}
	return nil
}

// call does one call. What it must know of manners, package httpapi knows.
func (k *Kind) call(ctx context.Context, in plan.Input, method, path string, body io.Reader, into any) error {
	token, err := k.settings.Token.Read()
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, method, k.settings.URL+path, body)
	if err != nil {
		return err
	}
	client := k.api.Client(httpapi.Caller{Token: token, ID: string(in.Run), Log: func(text string) { in.Log("http", text) }})
	answer, err := client.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
