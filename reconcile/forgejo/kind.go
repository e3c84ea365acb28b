package forgejo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"code.gitea.io/sdk/gitea"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/httpapi"
	"trueup/reconcile/plan"
)

// importing is how long an import is waited for, whose answer comes when it is done; abandoned is how old an empty repository
// is of which surely nothing is imported any more: the server may be slower than our patience, and its clock another.
const (
	importing = 10 * time.Minute
	abandoned = time.Hour
)

// Kind keeps one server as its document says.
type Kind struct {
	settings Settings
	source   string // of the document, for people
	api      func() (*httpapi.API, error)
}

// New gives the kind for one target, whose settings are valid. The source names the document in what is wrong with it.
func New(s Settings, source string) *Kind {
	return &Kind{settings: s, source: source, api: sync.OnceValues(func() (*httpapi.API, error) {
		return httpapi.New(httpapi.Options{Base: s.URL, CA: s.CA})
	})}
}

// Options are those of a target of this kind.
func Options(base plan.Options[*World]) plan.Options[*World] {
	base.Size = (*World).size
	return base
}

// server is the API for one call of the kind. The token is read anew, so that it can be exchanged.
func (k *Kind) server(ctx context.Context, in plan.Input, patience time.Duration) (server, error) {
	api, err := k.api()
	if err != nil {
		return server{}, err
	}
	token, err := k.settings.Token.Read()
	if err != nil {
		return server{}, err
	}
	client, err := gitea.NewClient(k.settings.URL, gitea.SetContext(ctx), gitea.SetGiteaVersion(""), // its gates misread Forgejo's versions
		gitea.SetHTTPClient(api.Client(httpapi.Caller{Token: token, ID: string(in.Run), Patience: patience, Log: func(text string) { in.Log("http", text) }})))
	return server{client}, err
}

// Observe reads the server, as far as the document asks. Whatever keeps it from that is a *reconcile.UnknownError, but the end
// of the context.
func (k *Kind) Observe(ctx context.Context, in plan.Input) (*World, error) {
	w, err := k.observe(ctx, in)
	if err != nil && ctx.Err() == nil {
		return nil, &reconcile.UnknownError{Err: err}
	}
	return w, err
}

func (k *Kind) observe(ctx context.Context, in plan.Input) (*World, error) {
	if in.Policy.Digest == "" {
		return nil, errors.New("the target has no policy, which is what it is kept to")
	}
	document := &Document{}
	if err := config.Decode(k.source, in.Policy.Data, document); err != nil {
		return nil, err
	}
	var known memory
	if in.Known != nil {
		if err := json.Unmarshal(in.Known, &known); err != nil {
			return nil, fmt.Errorf("reading the numbers that logins had: %w", err)
		}
	}
	s, err := k.server(ctx, in, 0)
	if err != nil {
		return nil, err
	}
	return s.observe(ctx, document, known.Accounts)
}

// A memory is what one tick knows from those before it.
type memory struct {
	Accounts map[string]int64 `json:"accounts"` // numbers by folded login
}

// Learn keeps the number of each login that is mentioned: who takes a login that was given up has another.
func (k *Kind) Learn(_ plan.Input, seen *World) []byte {
	encoded, _ := json.Marshal(memory{seen.learned(k.settings.Protect)}) // strings and numbers only
	return encoded
}

// Plan compares what is so with what the document wants.
func (k *Kind) Plan(_ plan.Input, seen *World) (reconcile.Plan, error) {
	return compare(seen, k.settings.Protect), nil
}

// Apply does one change. Where it is unclear whether it was done, the server is read again, and says.
func (k *Kind) Apply(ctx context.Context, in plan.Input, seen *World, c reconcile.Change) error {
	var what deed
	if err := json.Unmarshal([]byte(c.Data), &what); err != nil {
		return fmt.Errorf("reading change %q: %w", c.ID, err)
	}
	s, err := k.server(ctx, in, map[bool]time.Duration{true: importing}[what.Do == importRepo])
	if err != nil {
		return err
	}
	err = s.do(ctx, in, seen, what)
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "last member of owner"): // answered with 500, though nothing is wrong with the server
		return reconcile.Terminal(fmt.Errorf("an organisation has at least one owner: %w", err))
	case !httpapi.Unclear(err) || reconcile.IsTerminal(err) || ctx.Err() != nil:
		return err
	}
	now, unread := k.Observe(ctx, in)
	if unread != nil {
		return fmt.Errorf("%w; and whether it was done could not be read: %w", err, unread)
	}
	wanted := compare(now, k.settings.Protect)
	if slices.ContainsFunc(wanted, func(w reconcile.Change) bool { return w.ID == c.ID || w.Op == reconcile.Unknown }) {
		return err
	}
	in.Log("http", c.Text+": the answer was lost, and it is done\n")
	return nil
}
