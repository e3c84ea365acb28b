package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// tries is how often a file is read that changes under the reading.
const tries = 3

// A file is what is needed of an *os.File.
type file interface {
	io.ReadCloser
	Stat() (fs.FileInfo, error)
}

func readFile(path string) ([]byte, error) {
	return settled(func() (file, error) {
		// A FIFO must not block; whether it is one is only known once it is open.
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
}

// errChanged means that a file was written while it was read.
var errChanged = errors.New("it changes while it is read: its writer has to rename a complete file into its place")

// settled reads a file until it has not changed meanwhile.
func settled(open func() (file, error)) (data []byte, err error) {
	for range tries {
		if data, err = readOnce(open); !errors.Is(err, errChanged) {
			return data, err
		}
	}
	return nil, err
}

func readOnce(open func() (file, error)) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return nil, bare(err)
	case !before.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case before.Size() > Largest:
		return nil, errTooLarge
	}
	data, err := bounded(f)
	if err != nil {
		return nil, bare(err)
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return nil, bare(err)
	case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) || int64(len(data)) != after.Size():
		return nil, errChanged
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("it has more than %d MiB", Largest>>20)

// bounded reads all there is, and refuses what is too large.
func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, Largest+1))
	if err == nil && len(data) > Largest {
		err = errTooLarge
	}
	return data, err
}

// bare is the error without the path, which the reader names anyway.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
