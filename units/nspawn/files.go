package nspawn

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// volatile are the folders that are other file systems while a machine runs.
var volatile = []string{"run", "tmp", "dev", "proc", "sys"}

// Path returns the host's path of a file in the machine, so that a test can
// read, write and touch it without entering the machine. Folders on the way
// are resolved as the machine would; the last element is not, so that it may
// be a link or missing. The path of a file on the root file system stays good
// over power cuts and reboots; one in /run, /tmp, /dev, /proc or /sys names
// the running machine's. What a test has mounted elsewhere in the machine is
// found by Live only.
func (m *Machine) Path(name string) string {
	name = m.resolve(name)
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if m.Running() && slices.Contains(volatile, first) {
		return m.Live(name)
	}
	return filepath.Join(m.Dir, name)
}

// Live returns the host's path of a file as the running machine's PID 1 sees
// it, with everything that is mounted in the machine. Links are followed by
// the host: see the package's traps. It is good until the machine goes off.
func (m *Machine) Live(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", m.Leader()), name)
}

// resolve follows the links in a path's folders, inside the machine. A path
// with a folder that does not exist it returns as it is.
func (m *Machine) resolve(name string) string {
	name = filepath.Join("/", name)
	root, err := unix.Open(m.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return name
	}
	defer unix.Close(root)
	folder, err := unix.Openat2(root, filepath.Dir(name), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT,
	})
	if err != nil {
		return name
	}
	defer unix.Close(folder)
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", folder))
	if err != nil {
		return name
	}
	return filepath.Join("/", strings.TrimPrefix(real, m.Dir), filepath.Base(name))
}

// CopyIn copies a file of the host to a path in the machine, making its
// folders; it belongs to root and has the given mode. It replaces the file
// whole, so that a running program can be replaced.
func (m *Machine) CopyIn(t testing.TB, src, dst string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m.put(t, dst, in, mode)
}

// WriteFile is CopyIn from a string.
func (m *Machine) WriteFile(t testing.TB, dst, text string, mode os.FileMode) {
	t.Helper()
	m.put(t, dst, strings.NewReader(text), mode)
}

// ReadFile returns the content of a file in the machine.
func (m *Machine) ReadFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(m.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (m *Machine) put(t testing.TB, dst string, from io.Reader, mode os.FileMode) {
	t.Helper()
	path := m.Path(dst)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".copy-*")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, from)
	if err == nil {
		err = out.Chmod(mode)
	}
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		t.Fatalf("writing %s in %s: %v", dst, m.Name, err)
	}
}
