package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trueup/reconcile"
)

// serve stands up a server, and gives a client of it.
func serve(t *testing.T, c Caller, answer http.HandlerFunc) (*http.Client, string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	api, err := New(Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	api.wait = func(int) time.Duration { return 0 }
	return api.Client(c), server.URL
}

// call does one call and reads its answer.
func call(t *testing.T, client *http.Client, method, address string) (string, error) {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(ask)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return string(data), err
}

// Cases RTL-02, RTL-04: whatever form a limit has, nobody sleeps for it; the instant is told.
func TestLimits(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		code   int
		header map[string]string
		body   string
		in     time.Duration
	}{
		"spent quota":         {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(now.Add(3348 * time.Second).Unix())}, "", 3348 * time.Second},
		"spent quota, 429":    {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(now.Add(90 * time.Second).Unix())}, "", 90 * time.Second},
		"a pause":             {429, map[string]string{"Retry-After": "30"}, "", 30 * time.Second},
		"a pause, forbidden":  {403, map[string]string{"Retry-After": "60"}, "", 60 * time.Second},
		"until a date":        {429, map[string]string{"Retry-After": now.Add(120 * time.Second).UTC().Format(http.TimeFormat)}, "", 120 * time.Second},
		"only a text":         {403, nil, `{"message": "You have exceeded a secondary rate limit"}`, time.Minute},
		"abuse":               {403, nil, `{"message": "You have triggered an abuse detection mechanism"}`, time.Minute},
		"nothing but a code":  {429, nil, "", time.Minute},
		"a pause of nonsense": {429, map[string]string{"Retry-After": "soon"}, "", time.Minute},
	} {
		var calls atomic.Int32
		client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.code)
			fmt.Fprint(w, c.body)
		})
		for _, method := range []string{"GET", "POST"} {
			_, err := call(t, client, method, address)
			later, limited := errors.AsType[*reconcile.NotBeforeError](err)
			if !limited || later.At.Sub(now) < c.in-2*time.Second || later.At.Sub(now) > c.in+time.Minute/2 {
				t.Errorf("%s, %s: %v", name, method, err)
			}
			if Unclear(err) {
				t.Errorf("%s: a limit that refused a write is taken for doubt whether it was done", name)
			}
		}
		if calls.Load() != 2 {
			t.Errorf("%s: %d calls, and a limit is no reason to try again", name, calls.Load())
		}
	}
}

func TestForbiddenIsNoLimit(t *testing.T) {
	client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "4999")
		http.Error(w, `{"message":"token does not have the scope admin"}`, http.StatusForbidden)
	})
	_, err := call(t, client, "GET", address)
	if _, limited := errors.AsType[*reconcile.NotBeforeError](err); limited || !Is(err, 403) || !strings.Contains(err.Error(), "scope admin") {
		t.Errorf("got %v", err)
	}
}

// A reading is tried again, a write never is: it may have been done.
func TestOnlyReadingsAreTriedAgain(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"a gateway":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"hung up":     func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut off":     func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); fmt.Fprint(w, "part") },
		"unavailable": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		var calls atomic.Int32
		client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) < attempts {
				fail(w)
				return
			}
			fmt.Fprint(w, "whole")
		})
		if got, err := call(t, client, "GET", address); err != nil || got != "whole" {
			t.Errorf("%s: a reading ended as %q, %v", name, got, err)
		}
		calls.Store(0)
		_, err := call(t, client, "DELETE", address)
		if calls.Load() != 1 || !Unclear(err) {
			t.Errorf("%s: a write was sent %d times, and ended as %v", name, calls.Load(), err)
		}
		calls.Store(-100)
		if _, err := call(t, client, "GET", address); err == nil || calls.Load() != -100+attempts {
			t.Errorf("%s: a reading that never goes well was tried %d times: %v", name, 100+calls.Load(), err)
		}
	}
	client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
	if _, err := call(t, client, "POST", address); Unclear(err) || !Is(err, 422) {
		t.Errorf("a plain refusal is unclear: %v", err)
	}
	for _, err := range []error{nil, reconcile.ErrLeaseLost, errors.New("no such team")} {
		if Unclear(err) {
			t.Errorf("%v never was a call, and is unclear", err)
		}
	}
}

// The token goes to the one server, and is told to nobody.
func TestTokenStaysHere(t *testing.T) {
	const token = "s3cr3t-t0ken"
	strange := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token was carried off") }))
	defer strange.Close()
	var logged strings.Builder
	client, address := serve(t, Caller{Token: token, ID: "r-1", Log: func(text string) { logged.WriteString(text) }}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "token "+token:
			t.Errorf("no token in %v", r.Header)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, strange.URL, http.StatusTemporaryRedirect)
		default:
			http.Error(w, `{"message":"bad token `+token+`\u001b[31m\u009b31m\u202e"}`, http.StatusUnauthorized)
		}
	})
	if _, err := call(t, client, "GET", strange.URL); err == nil {
		t.Error("another server was called")
	}
	if _, err := call(t, client, "GET", address+"/moved"); !Is(err, 307) {
		t.Errorf("a redirect ended as %v", err)
	}
	_, err := call(t, client, "POST", address+"/x")
	if !Is(err, 401) || !strings.Contains(err.Error(), "[redacted]") || strings.ContainsAny(err.Error(), "\x1b\u009b\u202e") {
		t.Errorf("got %v", err)
	}
	if text := logged.String(); strings.Contains(text+err.Error(), token) || !strings.Contains(text, "POST /x: failed: 401") || !strings.Contains(text, "(request r-1-2), ") {
		t.Errorf("logged %q, told %v", text, err)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"https://git.example.org/sub": "", "http://127.0.0.1:3000": "", "http://localhost": "",
		"http://git.example.org": "has to be https", "git.example.org": "no address", "https://": "no address",
		"https://ada:pw@git.example.org": "has a user", "ftp://git.example.org": "not ftp", "https://h/?a=b": "no address",
	} {
		if err := ValidBase(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	for _, ca := range []string{path, path + ".gone"} {
		if err := os.WriteFile(path, []byte("no certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Base: "https://h", CA: ca}); err == nil {
			t.Errorf("%s was taken", ca)
		}
	}
}

func TestServerThatIsNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client
	server.StartTLS()
	defer server.Close()
	api, err := New(Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, api.Client(Caller{}), "POST", server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// Case RTL-03: what has not changed is not sent again.
func TestUnchangedIsNotSentAgain(t *testing.T) {
	var sent, asked int
	tag := `"1"`
	client, address := serve(t, Caller{}, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		w.Header().Set("X-Total-Count", "7")
		fmt.Fprint(w, "body "+tag)
	})
	for range 3 {
		if got, err := call(t, client, "GET", address); err != nil || got != `body "1"` {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	tag = `"2"`
	if got, err := call(t, client, "GET", address); err != nil || got != `body "2"` || asked != 4 || sent != 2 {
		t.Errorf("got %q, %v; asked %d times, sent %d times", got, err, asked, sent)
	}
}

func TestCallsEnd(t *testing.T) {
	stuck := make(chan struct{})
	client, address := serve(t, Caller{Patience: 50 * time.Millisecond}, func(http.ResponseWriter, *http.Request) { <-stuck })
	defer close(stuck)
	if _, err := call(t, client, "POST", address); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") || !Unclear(err) {
		t.Errorf("got %v", err)
	}
	lost := errors.New("the lease is lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lost)
	ask, _ := http.NewRequestWithContext(ctx, "GET", address, nil)
	if _, err := client.Do(ask); err == nil {
		t.Error("a call went on under a context that had ended")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	client, address := serve(t, Caller{}, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range largest>>20 + 1 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	if _, err := call(t, client, "GET", address); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Case REC-33: a page shorter than the limit says nothing of the end, and a list of which something is missing is none.
func TestListsAreReadToTheirEnd(t *testing.T) {
	type pages [][]int64
	for name, c := range map[string]struct {
		pages pages
		total string
		link  string
		want  int
		fault string
	}{
		"full pages":             {pages{{1, 2}, {3, 4}, {5}}, "5", "", 5, ""},
		"a short page within":    {pages{{1}, {3, 4}, {5, 6}}, "5", "", 5, ""},
		"nothing":                {pages{}, "0", "", 0, ""},
		"no count":               {pages{{1, 2}, {3}}, "", "", 3, ""},
		"no count, links":        {pages{{1, 2}, {3}}, "", "yes", 3, ""},
		"a page is missing":      {pages{{1, 2}, {}, {3, 4}}, "4", "", 0, "4 things, and 2 came"},
		"the end is missing":     {pages{{1, 2}}, "4", "", 0, "4 things, and 2 came"},
		"empty, and is not so":   {pages{}, "4", "", 0, "4 things, and 0 came"},
		"a page comes twice":     {pages{{1, 2}, {1, 2}}, "4", "", 0, "twice"},
		"more than was said":     {pages{{1, 2}, {3, 4}}, "3", "", 0, "3 things, and 4 came"},
		"without a number":       {pages{{1, 0}}, "2", "", 0, "something in it has no number"},
		"more than there can be": {pages{{1, 2}}, "2000000000", "", 0, "more than 500000 things"},
		"a count of nonsense":    {pages{{1}}, "many", "", 0, "no number"},
	} {
		got, err := All("things", func(n int64) int64 { return n }, func(page int) ([]int64, http.Header, error) {
			header := http.Header{}
			if c.total != "" {
				header.Set("X-Total-Count", c.total)
			}
			if c.link != "" {
				header.Set("Link", `<u?page=1>; rel="first"`)
				if page < len(c.pages) {
					header.Set("Link", `<u?page=2>; rel="next"`)
				}
			}
			if page > len(c.pages) {
				return nil, header, nil
			}
			return c.pages[page-1], header, nil
		})
		if len(got) != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	// One that has no end is not read for ever.
	endless := 0
	if _, err := All("things", func(n int64) int64 { return n }, func(page int) ([]int64, http.Header, error) {
		endless++
		return []int64{int64(page)}, http.Header{"Link": {`<u>; rel="next"`}}, nil
	}); err == nil || !strings.Contains(err.Error(), "10000 pages") || endless > most/PageSize+1 {
		t.Errorf("a list without end: %d pages, %v", endless, err)
	}
	// One that grows under the reading is read again.
	reads := 0
	got, err := All("things", func(n int64) int64 { return n }, func(page int) ([]int64, http.Header, error) {
		reads++
		total := "3"
		if reads == 1 {
			total = "2"
		}
		all := [][]int64{{1}, {2}, {3}}
		return all[page-1], http.Header{"X-Total-Count": {total}}, nil
	})
	if err != nil || len(got) != 3 {
		t.Errorf("a list that grew: %v, %v", got, err)
	}
}
