package policy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

const good = "members:\n  - ada\n"

func read(t *testing.T, s policy.Source) (policy.Document, error) {
	t.Helper()
	return policy.NewReader(t.Context(), nil).Read(t.Context(), s, policy.Moment{})
}

// unknown wants an UnknownError that says so much.
func unknown(t *testing.T, name string, err error, want string) {
	t.Helper()
	if _, is := errors.AsType[*reconcile.UnknownError](err); !is {
		t.Errorf("%s: want an UnknownError, got %v", name, err)
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("%s: want %q in %q", name, want, err)
	}
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func sh(script string) policy.Source {
	return policy.Source{Command: []string{"/bin/sh", "-c", script}}
}

// A reading that fails names its source once, and ends with the cause.
func TestSourceIsNamedOnce(t *testing.T) {
	_, err := read(t, policy.Source{Command: []string{"/nowhere/wanted"}})
	if err == nil || err.Error() != "reading policy /nowhere/wanted: no such file or directory" {
		t.Errorf("it says %v", err)
	}
}

func TestReadWhole(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, good) }))
	defer server.Close()
	sum := sha256.Sum256([]byte(good))
	for name, s := range map[string]policy.Source{
		"file":    {File: written(t, good)},
		"command": sh("printf 'members:\n  - ada\n'; echo chatter >&2"),
		"url":     {URL: server.URL},
	} {
		doc, err := read(t, s)
		if err != nil || string(doc.Data) != good || doc.Digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: got %q, digest %s, %v", name, doc.Data, doc.Digest, err)
		}
	}
}

// What cannot be read whole is not taken for an empty wish (REC-01).
func TestCannotReadIsNotEmpty(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "empty",
		" \n\n":                      "empty",
		"# only\n# comments\n":       "comments only",
		"---\n":                      "empty",
		"null\n":                     "null",
		"~\n":                        "null",
		"{}\n":                       "who wants nothing",
		"[]\n":                       "who wants nothing",
		"<html>502</html>\n":         "neither a mapping nor a list",
		"members: [ada, gra":         "cut off",
		"members:\n  - ada\n  - gra": "cut off",
		"members: {a: 1\n":           "not YAML",
		"a: \"x\n":                   "not YAML",
		"a: 1\n---\nb: 2\n":          "more than one document",
		"a: \xff\n":                  "UTF-8",
		"a: [1]\nb: 2\na: []\n":      `line 3 has the key "a" for the second time`,
		"a: [{b: 1, \"b\": []}]\n":   `the key "b" for the second time`,
	} {
		_, err := read(t, policy.Source{File: written(t, text)})
		unknown(t, fmt.Sprintf("%q", text), err, want)
	}
	for _, text := range []string{"members: []\n", "{\"members\": []}", "[ada]", "members:\n  - ada\r\n", "[{a: 1}, {a: 2}]\n", "a: {a: {a: 1}}\n1: x\n\"1\": y\n"} {
		if _, err := read(t, policy.Source{File: written(t, text)}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(dir, "huge")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, policy.Largest+1)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "gone"): "no such file", dir: "no regular file", fifo: "no regular file", link: "no regular file",
		"/dev/zero": "no regular file", "/proc/self/environ": "changes while it is read", huge: "8 MiB"} {
		_, err := read(t, policy.Source{File: path})
		unknown(t, path, err, want)
	}
}

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		source policy.Source
		want   string
	}{
		"exit":    {sh("echo 'a: 1'; echo no route >&2; exit 3"), "exit status 3: no route"},
		"signal":  {sh("echo 'a: 1'; kill -9 $$"), "killed"},
		"silent":  {sh("true"), "empty"},
		"missing": {policy.Source{Command: []string{"/nowhere/x"}}, "no such file"},
		"folder":  {policy.Source{Command: []string{"/tmp"}}, "permission denied"},
		"device":  {policy.Source{Command: []string{"/dev/zero"}}, "permission denied"},
		"flood":   {sh("yes 'a: 1'"), "8 MiB"},
		"held":    {sh("echo 'a: 1'; setsid sleep 5 & :"), "still holds its output"},
	} {
		_, err := read(t, c.source)
		unknown(t, name, err, c.want)
	}
}

func TestArgumentsAreNobodysBusiness(t *testing.T) {
	_, err := read(t, policy.Source{Command: []string{"/bin/false", "hunter2"}})
	unknown(t, "failing", err, "/bin/false")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an argument is told: %v", err)
	}
}

// slow is a source that leaves the ids of its processes in a file and then takes for ever.
func slow(dir string) (policy.Source, string) {
	pids := filepath.Join(dir, "pids")
	return sh("sleep 1000 & echo $$ $! >" + pids + ".new; mv " + pids + ".new " + pids + "; wait"), pids
}

func TestTimeKillsTheWholeGroup(t *testing.T) {
	s, pids := slow(t.TempDir())
	s.Timeout = 2 * time.Second
	_, err := read(t, s)
	unknown(t, "slow", err, "longer than 2s")
	gone(t, pids)
}

func TestTheSweepsEndKillsTheWholeGroup(t *testing.T) {
	s, pids := slow(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	r := policy.NewReader(ctx, nil)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := r.Read(t.Context(), s, policy.Moment{})
		unknown(t, "cancelled", err, "canceled")
	})
	appears(t, pids)
	cancel()
	wait.Wait()
	gone(t, pids)
}

func appears(t *testing.T, path string) {
	t.Helper()
	for tick := time.Tick(5 * time.Millisecond); ; {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick:
		case <-t.Context().Done():
			t.Fatalf("%s never came", path)
		}
	}
}

// gone waits until the processes are: killing is not waiting, and init reaps the orphan.
func gone(t *testing.T, pids string) {
	t.Helper()
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var leader, child int
	if _, err := fmt.Sscan(string(text), &leader, &child); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(5 * time.Second)
	for tick := time.Tick(5 * time.Millisecond); alive(leader) || alive(child); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("the processes %d and %d still run", leader, child)
		}
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// One asker's end is not another's: the reading goes on.
func TestOneAskerLeaves(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		fmt.Fprint(w, good)
	}))
	defer server.Close()
	r := policy.NewReader(t.Context(), nil)
	s := policy.Source{URL: server.URL}
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-entered; leave() }()
	_, err := r.Read(ctx, s, policy.Moment{})
	unknown(t, "who left", err, "canceled")
	close(release)
	if doc, err := r.Read(t.Context(), s, policy.Moment{}); err != nil || string(doc.Data) != good {
		t.Errorf("who stayed: %q, %v", doc.Data, err)
	}
}

func TestEachSourceIsReadOnceASweep(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, "n: %d\n", asked.Load())
	}))
	defer server.Close()
	r := policy.NewReader(t.Context(), nil)
	var wait sync.WaitGroup
	digests := make([]string, 50)
	for i := range digests {
		wait.Go(func() {
			doc, err := r.Read(t.Context(), policy.Source{URL: server.URL}, policy.Moment{})
			if err != nil {
				t.Error(err)
			}
			digests[i] = doc.Digest
			_, err = r.Read(t.Context(), policy.Source{URL: server.URL + "/bad"}, policy.Moment{})
			unknown(t, "bad", err, "502")
		})
	}
	wait.Wait()
	for _, d := range digests {
		if d != digests[0] {
			t.Fatalf("one sweep saw two documents: %v", digests)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("100 askers for two sources asked %d times, want 2", n)
	}
	if _, err := policy.NewReader(t.Context(), nil).Read(t.Context(), policy.Source{URL: server.URL}, policy.Moment{}); err != nil || asked.Load() != 3 {
		t.Errorf("the next sweep has to ask anew: %d, %v", asked.Load(), err)
	}
}

// A target that was asked for since a reading began must not be trued up by it: what its asker wrote may not be in it.
func TestReadingIsSharedUntilSomebodyAsks(t *testing.T) {
	source := policy.Source{File: written(t, "members: [ada]\n")}
	r := policy.NewReader(t.Context(), nil)
	reads := func(at policy.Moment, want string) {
		t.Helper()
		if doc, err := r.Read(t.Context(), source, at); err != nil || string(doc.Data) != want {
			t.Errorf("at %+v: read %q, %v; want %q", at, doc.Data, err, want)
		}
	}
	reads(policy.Moment{Asked: 4, Fence: 5}, "members: [ada]\n")
	if err := os.WriteFile(source.File, []byte("members: [eve]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	reads(policy.Moment{Asked: 4, Fence: 6}, "members: [ada]\n") // asked before it was read
	reads(policy.Moment{Asked: 7, Fence: 8}, "members: [eve]\n") // asked since
	reads(policy.Moment{Asked: 4, Fence: 9}, "members: [eve]\n") // the newest there is
	reads(policy.Moment{}, "members: [eve]\n")
}
