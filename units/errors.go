package units

import "fmt"

// A Refusal says why a unit cannot be adopted, and the way out.
type Refusal struct {
	Unit   string
	Reason string
	Hint   string // may be empty
}

// Error gives the reason; the hint is for those who have a place for it.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Unit, r.Reason) }

// A UsageError says that what was asked for cannot be, whatever the unit: a floor out of bounds, a relative folder, a
// group that there is not.
type UsageError struct {
	Reason string
	Hint   string // may be empty
}

// Error gives the reason.
func (e *UsageError) Error() string { return e.Reason }

// A FolderError says that a folder cannot be made, written or reached by the gate.
type FolderError struct {
	Path string
	Err  error
	Hint string // may be empty
}

// Error names the folder.
func (e *FolderError) Error() string { return fmt.Sprintf("folder %s: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *FolderError) Unwrap() error { return e.Err }
