package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Activity is what sweeps came to within a day, in slots of five minutes: numbers only, and no more than a day has slots. It is
// kept beside the page. Two sweeps that end in the same instant may leave one of them out.
type Activity struct {
	Version int    `json:"version"` // 1
	Slots   []Slot `json:"slots"`   // by their time
}

// A Slot is five minutes.
type Slot struct {
	At      time.Time     `json:"at"`      // its beginning
	Sweeps  int           `json:"sweeps"`  // that ended in it
	Touched int           `json:"touched"` // of them: asked for, and not by a timer
	Failed  int           `json:"failed"`
	Waited  time.Duration `json:"waited"`  // the longest wait in the gate; nanoseconds
	Longest time.Duration `json:"longest"` // the longest sweep
	Took    time.Duration `json:"took"`    // all of them
}

const (
	activityFile = "activity.json"
	slotLength   = 5 * time.Minute
	// Day is how far back the page looks.
	Day = 24 * time.Hour
	// longestActivity is how much of a file is read: a day's slots have 60 KB.
	longestActivity = 1 << 20
)

// ReadActivity reads what sweeps have left in a report folder; nothing, where none has. An error says that the file is damaged:
// the next one to add to it begins anew.
func ReadActivity(dir string) (Activity, error) {
	a := Activity{Version: 1}
	path := filepath.Join(dir, activityFile)
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // whatever stands there, nobody waits for it
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > longestActivity {
		return a, errors.Join(err, fmt.Errorf("reading %s: it is no file of trueup's; remove it", path))
	}
	text, err := io.ReadAll(io.LimitReader(file, longestActivity))
	if err != nil {
		return a, err
	}
	var read Activity
	if err := json.Unmarshal(text, &read); err != nil {
		return a, fmt.Errorf("reading %s: %w", path, err)
	}
	if read.Version != 1 {
		return a, fmt.Errorf("reading %s: version %d is not known here", path, read.Version)
	}
	return read, nil
}

// Add counts a sweep that has ended, and forgets what is older than a day.
func (a *Activity) Add(ended time.Time, sweep Slot) {
	at := ended.Truncate(slotLength)
	i := slices.IndexFunc(a.Slots, func(s Slot) bool { return s.At.Equal(at) })
	if i < 0 {
		i = len(a.Slots)
		a.Slots = append(a.Slots, Slot{At: at})
	}
	s := &a.Slots[i]
	s.Sweeps++
	s.Touched += sweep.Touched
	s.Failed += sweep.Failed
	s.Waited, s.Longest, s.Took = max(s.Waited, sweep.Waited), max(s.Longest, sweep.Took), s.Took+sweep.Took
	slices.SortFunc(a.Slots, func(x, y Slot) int { return x.At.Compare(y.At) })
	a.Slots = a.Within(ended)
}

// Within are the slots of the day before an instant, each once, whatever the file had. A clock that was set back leaves none in
// the future.
func (a Activity) Within(now time.Time) []Slot {
	known := map[int64]bool{}
	return slices.DeleteFunc(slices.Clone(a.Slots), func(s Slot) bool {
		at := s.At.Unix()
		odd := now.Sub(s.At) > Day || s.At.After(now) || !s.At.Equal(s.At.Truncate(slotLength)) || known[at] || s.Sweeps < 1
		known[at] = true
		return odd
	})
}

// Save writes it into the report folder.
func (a Activity) Save(dir string, mode fs.FileMode) error {
	a.Version = 1
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", activityFile, err)
	}
	return Replace(filepath.Join(dir, activityFile), append(text, '\n'), mode)
}
