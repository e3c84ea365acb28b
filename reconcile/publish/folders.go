package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folders keep a Memory in the first of them that takes it. The others serve while that one is read-only or damaged, which is
// when alarms matter.
type Folders []string

// Hold keeps other looks away, as the function Hold does. Where the first folder refuses and another does not, refused says why.
func (f Folders) Hold() (release func(), refused, err error) {
	for _, dir := range f {
		release, err = Hold(dir)
		if err == nil || errors.Is(err, ErrBusy) {
			return release, refused, err
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, nil, refused
}

// Read reads what was saved last.
func (f Folders) Read() (Memory, error) {
	for _, dir := range f[1:] {
		if _, err := os.Lstat(filepath.Join(dir, memoryFile)); err == nil { // else Save would have removed it
			return Read(dir)
		}
	}
	return Read(f[0])
}

// Save saves a memory. An error tells why the first folder did not take it, and which other did, if any.
func (f Folders) Save(m Memory) error {
	refused := m.Save(f[0])
	for _, dir := range f[1:] {
		path := filepath.Join(dir, memoryFile)
		if refused == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("noting the alarms: %w", err)
			}
			continue
		}
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = m.Save(dir)
		}
		if err == nil {
			return fmt.Errorf("%w; they are noted in %s until it does", refused, dir)
		}
		refused = errors.Join(refused, err)
	}
	return refused
}
