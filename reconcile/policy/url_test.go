package policy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

// raw answers every connection with these bytes and closes it.
func raw(t *testing.T, answer string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		send(t, buffer, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, to *bufio.ReadWriter, answer string) {
	if _, err := to.WriteString(answer); err != nil {
		t.Error(err)
	}
	if err := to.Flush(); err != nil {
		t.Error(err)
	}
}

func TestAnswersThatAreNotWhole(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct{ answer, want string }{
		"dropped in mid-body":       {ok + "Content-Length: 400\r\n\r\n" + good, "cut off"},
		"dropped in mid-chunk":      {ok + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + good, "cut off"},
		"dropped before the last":   {ok + "Transfer-Encoding: chunked\r\n\r\n11\r\n" + good + "\r\n", "cut off"},
		"dropped before the answer": {"", "EOF"},
		"no length":                 {ok + "Connection: close\r\n\r\n" + good, "how long"},
		"an old server":             {"HTTP/1.0 200 OK\r\n\r\n" + good, "how long"},
		"a part":                    {"HTTP/1.1 206 Partial Content\r\nContent-Length: 17\r\n\r\n" + good, "206"},
		"an error":                  {"HTTP/1.1 503 Busy\r\nContent-Length: 17\r\n\r\n" + good, "503"},
		"nothing":                   {"HTTP/1.1 204 No Content\r\n\r\n", "204"},
		"an empty body":             {ok + "Content-Length: 0\r\n\r\n", "empty"},
		"compressed unasked":        {ok + "Content-Encoding: br\r\nContent-Length: 17\r\n\r\n" + good, "encoded as br"},
		"too much":                  {ok + "Content-Length: 9000000\r\n\r\n" + strings.Repeat("a: b\n", 1800000), "8 MiB"},
	} {
		_, err := read(t, policy.Source{URL: raw(t, c.answer)})
		unknown(t, name, err, c.want)
	}
}

func TestAnswerThatNeverCame(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a: ")
		w.(http.Flusher).Flush()
		<-stuck
	}))
	defer server.Close()
	defer close(stuck)
	_, err := read(t, policy.Source{URL: server.URL, Timeout: 200 * time.Millisecond})
	unknown(t, "stuck", err, "longer than 200ms")
}

func TestRedirects(t *testing.T) {
	end := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/on":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/down":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			fmt.Fprint(w, good)
		}
	}))
	end.Config.ErrorLog = log.New(io.Discard, "", 0)
	end.StartTLS()
	defer end.Close()
	for path, want := range map[string]string{"/on": "", "/down": "only https", "/loop": "on and on"} {
		doc, err := policy.NewReader(t.Context(), end.Client().Transport).Read(t.Context(), policy.Source{URL: end.URL + path}, policy.Moment{})
		if want != "" {
			unknown(t, path, err, want)
		} else if err != nil || string(doc.Data) != good {
			t.Errorf("%s: %q, %v", path, doc.Data, err)
		}
	}
	_, err := read(t, policy.Source{URL: end.URL})
	unknown(t, "a certificate of nobody", err, "certificate")
}

func TestSourceValidate(t *testing.T) {
	for want, s := range map[string]policy.Source{
		"one of":            {File: "/x", URL: "https://host/x"},
		"want one of file":  {Timeout: time.Second},
		"relative":          {File: "x"},
		"absolute path":     {Command: []string{"sh"}},
		"negative":          {File: "/x", Timeout: -1},
		"has to be https: ": {URL: "http://example.org/x"},
		"not ftp":           {URL: "ftp://example.org/x"},
		"a user":            {URL: "https://ada:hunter2@example.org/x"},
		"no address":        {URL: "example.org"},
	} {
		err := s.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: want %q, got %v", s, want, err)
		}
	}
	for _, url := range []string{"https://example.org/x", "http://localhost:8080/x", "http://127.0.0.2/x", "http://" + net.JoinHostPort("::1", "80")} {
		if err := (policy.Source{URL: url}).Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// faulty is a transport with a fault.
type faulty struct{}

func (faulty) RoundTrip(*http.Request) (*http.Response, error) { panic("nil map") }

// A reading is nobody's own, so that a panic in it would end the whole sweep.
func TestPanicIsUnknown(t *testing.T) {
	_, err := policy.NewReader(t.Context(), faulty{}).Read(t.Context(), policy.Source{URL: "http://localhost/"}, policy.Moment{})
	unknown(t, "a panic", err, "panic: nil map")
	if p, is := errors.AsType[*reconcile.PanicError](err); !is || !strings.Contains(string(p.Stack), "RoundTrip") {
		t.Errorf("it does not tell where: %v", err)
	}
}
