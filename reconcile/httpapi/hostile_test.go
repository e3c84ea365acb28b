package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// What a hostile server can make of an answer is bounded in bytes and in time, and never ends in a success.
func TestHostileServers(t *testing.T) {
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range largest>>20 + 8 {
		_, _ = z.Write(zeros) // into memory
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		why    string
	}{
		"a little that becomes a lot": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, "more than 32 MiB"},
		"a drop at a time": {func(w http.ResponseWriter, r *http.Request) {
			drops := time.NewTicker(20 * time.Millisecond)
			defer drops.Stop()
			for range drops.C {
				if _, err := w.Write([]byte("[")); err != nil || http.NewResponseController(w).Flush() != nil || r.Context().Err() != nil {
					return
				}
			}
		}, "no answer within 300ms"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Junk", strings.Repeat("x", 12<<20))
		}, "header"},
		"another protocol": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, "101"},
	} {
		var caller Caller
		if name == "a drop at a time" {
			caller.Patience = 300 * time.Millisecond
		}
		client, address := serve(t, caller, c.answer)
		if got, err := call(t, client, "GET", address); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Instants that a limit names are taken as they are; whoever keeps them bounds them. One that is over is still a limit.
func TestAbsurdLimits(t *testing.T) {
	for after, at := range map[string]func(time.Duration) bool{
		"2147483647":                    func(d time.Duration) bool { return d > 24*time.Hour },
		"99999999999999999999":          func(d time.Duration) bool { return d > 0 && d <= breather },
		"-5":                            func(d time.Duration) bool { return d > 0 && d <= breather },
		"0":                             func(d time.Duration) bool { return d <= time.Second },
		"1e9":                           func(d time.Duration) bool { return d > 0 && d <= breather },
		"Thu, 01 Jan 1970 00:00:00 GMT": func(d time.Duration) bool { return d <= 0 },
	} {
		client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := call(t, client, "GET", address)
		later, limited := errors.AsType[*reconcile.NotBeforeError](err)
		if !limited || !at(time.Until(later.At)) {
			t.Errorf("Retry-After %s: %v", after, err)
		}
	}
}

// A login page of something between is no success, of a reading as of a write, of which nobody knows whether it was done.
func TestPagesForBrowsers(t *testing.T) {
	calls := 0
	client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = w.Write([]byte("\r\n<!DOCTYPE html><p>sign in"))
	})
	for _, method := range []string{"GET", "DELETE"} {
		if _, err := call(t, client, method, address); !errors.Is(err, errPage) || !Unclear(err) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, and nothing would be better at another", calls)
	}
}

// A server that sends the token back, wherever it can, does not get it told.
func TestTokenSentBack(t *testing.T) {
	const token = "s3cret-of-the-server"
	for _, code := range []int{http.StatusOK, http.StatusTeapot} {
		var told strings.Builder
		client, address := serve(t, Caller{Token: token, Log: func(text string) { told.WriteString(text) }}, func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nX-Request-Id: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", code, token, token, len(token), token)
		})
		if _, err := call(t, client, "POST", address); err != nil {
			told.WriteString(err.Error())
		}
		if !strings.Contains(told.String(), "POST") || strings.Contains(told.String(), token) {
			t.Errorf("%d: %s", code, told.String())
		}
	}
}
