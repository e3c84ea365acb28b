package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Fault is one thing that is wrong with the configuration.
type Fault struct {
	File    string
	Line    int // from 1; 0 where the fault is the whole file's
	Message string
	Hint    string // what to do about it; may be empty
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// Faults are everything that is wrong, file by file and line by line. Load's errors are Faults.
type Faults []*Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults one by one.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, fault := range f {
		errs[i] = fault
	}
	return errs
}

// most is how many faults are told: more help nobody, and a broken generator could make a million.
const most = 100

// A place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// findings gather faults, and keep what reading several files has in common.
type findings struct {
	faults Faults
	more   int
	files  map[string]int // in which order the files were read
	kept   layouts
}

func (f *findings) layout(structs []reflect.Value) *layout {
	if f.kept == nil {
		f.kept = layouts{}
	}
	return f.kept.find(structs)
}

func (f *findings) add(at place, hint, format string, args ...any) {
	if len(f.faults) >= most {
		f.more++
		return
	}
	f.faults = append(f.faults, &Fault{File: at.file, Line: at.line, Message: printable(fmt.Sprintf(format, args...)), Hint: printable(hint)})
}

// err is nil where nothing was found.
func (f *findings) err() error {
	if len(f.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(f.faults, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(f.files[a.File], f.files[b.File]), cmp.Compare(a.Line, b.Line))
	})
	if f.more > 0 {
		last := f.faults[len(f.faults)-1]
		f.faults = append(f.faults, &Fault{File: last.File, Message: fmt.Sprintf("and %d faults more", f.more)})
	}
	return f.faults
}

// count is how many faults there are, told or not.
func (f *findings) count() int { return len(f.faults) + f.more }

// printable keeps a fault on one line, and control characters from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\u202e' {
			return ' '
		}
		return r
	}, s)
}
