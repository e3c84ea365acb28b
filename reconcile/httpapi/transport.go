package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"trueup/reconcile"
)

// attempts is how often a reading is tried.
const attempts = 3

// jitter is the pause before another attempt: of random length, so that many who failed together do not come back together.
func jitter(attempt int) time.Duration {
	most := shortest << attempt
	return shortest/2 + time.Duration(mathrand.Int64N(int64(most)))
}

// A transport sends the calls of one caller.
type transport struct {
	api    *API
	caller Caller
	count  atomic.Int64
}

// RoundTrip sends a call, see the package comment. An answer that is no success is an error.
func (t *transport) RoundTrip(ask *http.Request) (*http.Response, error) {
	if ask.URL.Scheme != t.api.base.Scheme || ask.URL.Host != t.api.base.Host {
		return nil, fmt.Errorf("a call to %s, and only %s is configured", ask.URL.Host, t.api.base.Host)
	}
	reads := ask.Method == http.MethodGet || ask.Method == http.MethodHead
	for attempt := 1; ; attempt++ {
		answer, err := t.once(ask, reads)
		if err == nil || !reads || attempt == attempts || !passing(ask.Context(), err) {
			return answer, err
		}
		select {
		case <-time.After(t.api.wait(attempt)):
		case <-ask.Context().Done():
			return nil, context.Cause(ask.Context())
		}
	}
}

// passing tells whether a reading may go well at another attempt.
func passing(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if _, limited := errors.AsType[*reconcile.NotBeforeError](err); limited {
		return false
	}
	if s, answered := errors.AsType[*StatusError](err); answered {
		return s.Code == http.StatusBadGateway || s.Code == http.StatusServiceUnavailable || s.Code == http.StatusGatewayTimeout
	}
	return !errors.Is(err, errTooLarge) && !errors.Is(err, errPage)
}

func (t *transport) once(ask *http.Request, reads bool) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ask.Context(), t.caller.Patience, fmt.Errorf("no answer within %s", t.caller.Patience))
	defer cancel()
	id, begun := t.id(), time.Now()
	sent := ask.Clone(ctx)
	sent.Header.Set("Authorization", "token "+t.caller.Token)
	sent.Header.Set("User-Agent", "trueup")
	sent.Header.Set("X-Request-Id", id)
	before := t.api.kept.find(sent, reads)
	answer, data, err := t.send(sent)
	if err == nil && answer.StatusCode == http.StatusNotModified && before != nil {
		answer, data = before.again(ask), before.data
	}
	if answer != nil {
		if theirs := printable(t.caller.Hide.Hide(answer.Header.Get("X-Request-Id")), 100); theirs != "" {
			id = theirs
		}
	}
	if err == nil {
		err = t.judge(answer, data, id, reads)
	}
	if !reads {
		t.note(ask, answer, err, id, time.Since(begun))
	}
	if err != nil {
		return nil, err
	}
	t.api.kept.keep(sent, answer, data, reads)
	answer.Body, answer.ContentLength, answer.Request = io.NopCloser(bytes.NewReader(data)), int64(len(data)), ask
	return answer, nil
}

// note tells of a write.
func (t *transport) note(ask *http.Request, answer *http.Response, err error, id string, took time.Duration) {
	var outcome string
	if err != nil {
		outcome = "failed: " + t.caller.Hide.Hide(err.Error())
	} else {
		outcome = printable(t.caller.Hide.Hide(answer.Status), 100)
	}
	if !strings.Contains(outcome, id) {
		outcome += " (request " + id + ")"
	}
	t.caller.Log(fmt.Sprintf("%s %s: %s, %s\n", ask.Method, ask.URL.Path, outcome, took.Round(time.Millisecond)))
}

var errTooLarge = fmt.Errorf("the answer has more than %d MiB", largest>>20)

var errPage = errors.New("a page for browsers came in place of the API's answer: is the address right, or does something between answer")

// send gives the answer and its body, whole.
func (t *transport) send(ask *http.Request) (*http.Response, []byte, error) {
	answer, err := t.api.wire.RoundTrip(ask)
	if err != nil {
		return nil, nil, because(ask.Context(), err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, largest+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the answer was cut off: %w", because(ask.Context(), err))
	case len(data) > largest:
		return nil, nil, errTooLarge
	}
	return answer, data, nil
}

// because prefers what ended the context to how that looked from the connection.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// judge tells whether an answer is a success.
func (t *transport) judge(answer *http.Response, data []byte, id string, reads bool) error {
	if answer.StatusCode/100 == 2 && bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		return errPage
	}
	if answer.StatusCode/100 == 2 {
		return nil
	}
	s := &StatusError{Code: answer.StatusCode, Text: printable(t.caller.Hide.Hide(message(data)), 300), Request: id}
	if at, limited := limit(answer, data, reads); limited {
		return &reconcile.NotBeforeError{At: at, Err: s}
	}
	return s
}

// id names a request: the run and a number within it, or something random.
func (t *transport) id() string {
	n := t.count.Add(1)
	begin := t.caller.ID
	if begin == "" {
		var b [6]byte
		_, _ = rand.Read(b[:]) // it cannot fail
		begin = hex.EncodeToString(b[:])
	}
	return fmt.Sprintf("%s-%d", begin, n)
}

// printable is a text on one line, without what terminals would obey.
func printable(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
