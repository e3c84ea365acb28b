package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMetricsText(t *testing.T) {
	m := NewMetrics([]Metric{{Name: "a_total", Type: "counter", Help: "A \\ and\na line."}, {Name: "none", Type: "gauge", Help: "No."}, {Name: "b", Type: "gauge", Help: "B."}})
	m.Add("b", 1.5)
	m.Add("a_total", 12345678901, "unit", "we\"b\\.\nservice", "target", "")
	m.Add("a_total", 2, "unit", "bad\xff")
	want := "# HELP a_total A \\\\ and\\na line.\n# TYPE a_total counter\n" +
		"a_total{unit=\"we\\\"b\\\\.\\nservice\"} 12345678901\na_total{unit=\"bad\uFFFD\"} 2\n" +
		"# HELP b B.\n# TYPE b gauge\nb 1.5\n"
	if got := string(m.Text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file is replaced whole, keeps no trace of an attempt, and is led nowhere else by a link.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, elsewhere := filepath.Join(dir, "x.prom"), filepath.Join(dir, "elsewhere")
	for _, link := range []string{path, filepath.Join(dir, ".x.prom.trueup-new")} {
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(path, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("it is %v, %v; want a file with mode 0644, whatever the umask", info.Mode(), err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
	if err := Replace(filepath.Join(dir, "none", "x.prom"), nil, 0o644); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "none")) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "way", "x.prom"), nil, 0o644); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("root follows a link on the way: %v", err)
	}
}
