package signup

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"trueup/units/nspawn"
)

// A browser is Chromium on this host, in the machine's network.
type browser struct {
	in  io.Writer
	out *bufio.Scanner
}

// An ask is what the browser is to do; see testdata/browser/drive.mjs.
type ask struct {
	Do      string   `json:"do"`
	Name    string   `json:"name,omitempty"`
	Key     string   `json:"key,omitempty"`
	State   string   `json:"state,omitempty"`
	Shot    string   `json:"shot,omitempty"`
	Names   []string `json:"names,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Plainly bool     `json:"plainly,omitempty"` // without scripts
}

// A view is what the browser saw.
type view struct {
	Path, Title, Login, State, Says, Fault, Error string
	Paths, States, Complaints                     []string
}

// openBrowser starts Chromium, driven by Playwright.
func openBrowser(t *testing.T, m *nspawn.Machine, address string) *browser {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "drive.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata/browser", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci, of Debian's packages nodejs and npm: %v\n%s", err, out)
	}
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(m.Leader()), "-n", "node", filepath.Join(dir, "drive.mjs"), dir, address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	b := &browser{in: in, out: bufio.NewScanner(out)}
	b.out.Buffer(nil, 1<<20)
	return b
}

// do has the browser do something, which has to go well.
func (b *browser) do(t *testing.T, a ask) (v view) {
	t.Helper()
	line, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b.in, "%s\n", line)
	if !b.out.Scan() {
		t.Fatalf("the browser has ended; it is Debian's package chromium, driven by node: %v", b.out.Err())
	}
	if err := json.Unmarshal(b.out.Bytes(), &v); err != nil {
		t.Fatalf("the browser answers %q: %v", b.out.Text(), err)
	}
	if v.Error != "" {
		t.Fatalf("%s: %s", line, v.Error)
	}
	return v
}
