package policy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"trueup/reconcile/policy"
)

// Case RTL-03: a document that has not changed is not sent again to the next sweep, and a copy counts only by the server's word.
func TestUnchangedDocumentIsNotSentAgain(t *testing.T) {
	text, tag, sent := good, `"1"`, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "policies")
	sweep := func(want string, times int) {
		t.Helper()
		r := policy.NewReader(t.Context(), nil)
		r.KeepCopies(dir)
		doc, err := r.Read(t.Context(), policy.Source{URL: server.URL}, policy.Moment{})
		if err != nil || string(doc.Data) != want || sent != times {
			t.Errorf("got %q, %v, sent %d times, want %q, %d times", doc.Data, err, sent, want, times)
		}
	}
	sweep(good, 1)
	sweep(good, 1)
	text, tag = "members: []\n", `"2"`
	sweep(text, 2)
	sweep(text, 2)
	copies, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(copies) != 1 {
		t.Fatalf("the copies are %q, %v", copies, err)
	}
	if info, err := os.Stat(copies[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a copy may be read by others: %v, %v", info.Mode(), err)
	}
	if whole, err := os.ReadFile(copies[0]); err != nil || os.WriteFile(copies[0], whole[:len(whole)-9], 0o600) != nil {
		t.Fatal(err)
	}
	sweep(text, 3) // what was written in part is no copy
	sweep(text, 3)
	tag = ""
	text = good
	sweep(good, 4)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder should be
		t.Fatal(err)
	}
	tag = `"3"`
	sweep(good, 5)
}

// A server that says that nothing has changed to somebody who has nothing.
func TestUnchangedFromNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	defer server.Close()
	_, err := read(t, policy.Source{URL: server.URL})
	unknown(t, "304", err, "304")
}
