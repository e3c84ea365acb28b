package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"trueup/reconcile"
	"trueup/reconcile/config"
)

// Exit codes: those of sysexits.h, whose names systemd prints, and the shell's for an interrupt.
const (
	exitNeeds       = 1  // a person is needed
	exitUsage       = 64 // the command line, also where it names what is not there: a run, a target, a unit
	exitUnadoptable = 65 // a unit that cannot be adopted
	exitState       = 74 // a folder cannot be written or read
	exitTimeout     = 75 // waited in vain
	exitPermission  = 77
	exitConfig      = 78  // the configuration, or a folder or ledger that is to be there
	exitSignal      = 128 // plus the number of the signal that ended it
)

// Colours of the terminal, and its bold.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// A failure is an error together with the exit code and the way out. Without an error it ends the program silently,
// for verbs that have said all they have to say.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func fail(code int, hint, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...), hint}
}

func usageError(hint, format string, args ...any) error {
	return fail(exitUsage, hint, format, args...)
}

// ui is the CLI's voice: lower case, no full stop, what, where, what to do. Colour never carries meaning alone.
type ui struct {
	out, err io.Writer
	plain    bool
	failed   *error // the first error of writing to out, where somebody was to read it
}

func newUI(out, err io.Writer) *ui {
	failed := new(error)
	return &ui{out: checked{out, failed}, err: err, failed: failed, plain: os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"}
}

// checked remembers that something could not be printed. A reader that has gone away has read what it wanted.
type checked struct {
	io.Writer
	failed *error
}

func (c checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	if err != nil && *c.failed == nil {
		*c.failed = err
	}
	return n, err
}

// terminal tells whether somebody looks at it.
func terminal(w io.Writer) bool {
	if c, ok := w.(checked); ok {
		w = c.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// say prints one line, whatever was put into it: a line end in somebody's name makes no other.
func (u *ui) say(format string, args ...any) {
	fmt.Fprintln(u.out, printable(fmt.Sprintf(format, args...)))
}

// note prints one line beside what was asked for.
func (u *ui) note(format string, args ...any) {
	fmt.Fprintln(u.err, printable(fmt.Sprintf(format, args...)))
}

// page prints several lines.
func (u *ui) page(lines []string) {
	for _, line := range lines {
		u.say("%s", line)
	}
}

func (u *ui) warning(format string, args ...any) {
	u.marked(yellow, "warning: ", fmt.Sprintf(format, args...))
}

func (u *ui) marked(colour, mark, text string) {
	fmt.Fprintf(u.err, "%s%s\n", u.painted(u.err, colour, mark), printable(text))
}

// draw says what has colours in it; none of it comes from files.
func (u *ui) draw(format string, args ...any) { fmt.Fprintf(u.out, format+"\n", args...) }

// harmless is text of several lines, such as what a command printed, that a terminal only shows.
func harmless(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// painted is the text in a colour of the terminal, if it is one.
func (u *ui) painted(on io.Writer, colour, text string) string {
	if u.plain || !terminal(on) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// exit says what went wrong, and returns the exit code for it.
func (u *ui) exit(ctx context.Context, err error) int {
	if err == nil && *u.failed != nil {
		err = fail(exitState, "", "printing: %w", *u.failed)
	}
	if err == nil {
		return 0
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = classify(ctx, err)
	}
	if faults, ok := errors.AsType[config.Faults](err); ok {
		for _, fault := range faults {
			u.marked(red, "error: ", fault.Error())
			if fault.Hint != "" {
				u.marked(cyan, "hint: ", fault.Hint)
			}
		}
		return exitConfig
	}
	if f.err != nil {
		for line := range strings.Lines(f.err.Error()) { // several things may be wrong at once
			u.marked(red, "error: ", strings.TrimSuffix(line, "\n"))
		}
	}
	if f.hint != "" {
		u.marked(cyan, "hint: ", f.hint)
	}
	return f.code
}

// classify finds the exit code for an error that came without one.
func classify(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(err, context.Canceled):
		by, known := errors.AsType[told](context.Cause(ctx))
		if !known {
			by.Signal = syscall.SIGINT
		}
		return &failure{code: exitSignal + int(by.Signal)}
	case errors.Is(err, fs.ErrPermission): // also of a ledger: to somebody else it is writable
		hint := "run it as root, or as the user whose folders these are"
		if os.Geteuid() == 0 { // in a folder of somebody else, on a read-only mount, in a sandbox
			hint = "root was refused: run it as the user whose folder it is (ls -ld), and look at mounts and attributes (findmnt -T, lsattr -d)"
		}
		return &failure{exitPermission, err, hint}
	case errors.Is(err, reconcile.ErrUnwritable):
		return &failure{code: exitState, err: err}
	case errors.Is(err, fs.ErrNotExist):
		return &failure{code: exitConfig, err: err}
	}
	return &failure{code: exitState, err: err}
}
