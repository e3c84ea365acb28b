package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A day has so many slots, whatever happens in it, and what is older goes; a clock that is set back leaves nothing from the future.
func TestActivity(t *testing.T) {
	var a Activity
	for i := range 3 * 24 * 120 { // three days, a sweep every 30 s
		a.Add(noon.Add(time.Duration(i)*30*time.Second), Slot{Took: time.Second, Touched: i % 2, Waited: time.Duration(i%3) * time.Second})
	}
	end := noon.Add(72*time.Hour - 30*time.Second)
	if n := len(a.Slots); n < 288 || n > 289 {
		t.Errorf("%d slots", n)
	}
	if s := a.Slots[100]; s.Sweeps != 10 || s.Touched != 5 || s.Waited != 2*time.Second || s.Took != 10*time.Second || s.Longest != time.Second {
		t.Errorf("%+v", s)
	}
	dir := t.TempDir()
	if err := a.Save(dir, 0o640); err != nil {
		t.Fatal(err)
	}
	again, err := ReadActivity(dir)
	if err != nil || len(again.Slots) != len(a.Slots) {
		t.Fatalf("%d slots, %v", len(again.Slots), err)
	}
	if info, err := os.Stat(filepath.Join(dir, activityFile)); err != nil || info.Size() > 100_000 || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	again.Add(end.Add(-48*time.Hour), Slot{})
	if len(again.Slots) != 1 {
		t.Errorf("%d slots after the clock was set back", len(again.Slots))
	}
}

func TestActivityDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, activityFile)
	if a, err := ReadActivity(dir); err != nil || len(a.Slots) > 0 {
		t.Errorf("where there is none: %+v, %v", a, err)
	}
	for _, text := range []string{"", "{", `{"version":2}`, strings.Repeat(" ", longestActivity+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := ReadActivity(dir); err == nil || a.Version != 1 {
			t.Errorf("%.20q: %+v, %v", text, a, err)
		}
	}
	slot := `{"at":"2026-11-29T11:55:00Z","sweeps":1},{"at":"2026-11-29T11:56:00Z","sweeps":1},{"at":"2026-11-29T11:50:00Z","sweeps":-1},`
	text := `{"version":1,"slots":[` + strings.Repeat(slot, 5000) + `{}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadActivity(dir); err != nil || len(a.Within(noon)) != 1 {
		t.Errorf("%d slots of the same five minutes, %v", len(a.Within(noon)), err)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadActivity(dir); err == nil {
		t.Error("a pipe is read")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadActivity(dir); err == nil {
		t.Error("a link is followed")
	}
}

// Every mark is within the drawing, whatever the clocks say.
func TestStrip(t *testing.T) {
	s := NewStrip(noon)
	if len(s.Hours) != 24 || s.Hours[23].X != "100.00%" || s.Hours[23].Name != "12:00" {
		t.Errorf("hours %+v", s.Hours)
	}
	s.AddSlot(Slot{At: noon.Add(-time.Hour), Sweeps: 1, Touched: 1, Failed: 1, Longest: time.Hour, Waited: 29 * time.Second}, noon, "x")
	s.AddRun(noon.Add(-25*time.Hour), time.Second, noon, "ok", "gone", "")
	s.AddRun(noon.Add(time.Hour), 0, noon, "failed", "from the future", "run-1")
	if len(s.Runs) != 1 || s.Runs[0].X != "100.00%" || s.Runs[0].Sign != "✕" || s.Runs[0].Height != stripLowest {
		t.Errorf("%+v", s.Runs)
	}
	s.AddRun(noon.Add(-time.Hour), 0, noon, "ok", "an hour ago", "")
	if !s.Runs[0].Late || s.Runs[1].Late {
		t.Errorf("the latest run ends past the edge, or an early one is moved: %+v", s.Runs)
	}
	s.AddSlot(Slot{At: noon, Sweeps: 1, Waited: time.Second}, noon, "the latest")
	if b := s.Slots[1]; b.X != "99.74%" || b.WaitX != "99.65%" || b.Waited != "0.35%" {
		t.Errorf("the latest slot ends past the edge: %+v", b)
	}
	if b := s.Slots[0]; b.X != "95.83%" || b.Height != stripHighest || !b.Touched || !b.Fail || b.Waited == "" {
		t.Errorf("%+v", b)
	}
}
