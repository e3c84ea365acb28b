package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// largest is how much a file of the configuration may hold: some ten thousand targets.
const largest = 4 << 20

// read reads a file whole, and finds a fault where it cannot or should not.
func (f *findings) read(path string) ([]byte, bool) {
	f.note(path)
	// A FIFO must not block; whether it is one is only known once it is open.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrPermission) {
			hint = "run it as the user whose file this is"
		}
		f.add(place{file: path}, hint, "cannot be read: %v", cause(err))
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		f.add(place{file: path}, "", "cannot be read: %v", cause(err))
		return nil, false
	case !info.Mode().IsRegular():
		f.add(place{file: path}, "", "is no regular file")
		return nil, false
	case info.Mode().Perm()&0o002 != 0:
		f.add(place{file: path}, "chmod o-w "+path, "anyone may write it, and its commands run with this service's rights")
	case os.Geteuid() == 0 && foreign(info):
		f.add(place{file: path}, "chown root "+path, "belongs to another user, and root would run its commands")
	}
	var text bytes.Buffer
	text.Grow(int(min(info.Size(), largest)) + bytes.MinRead)
	_, err = text.ReadFrom(io.LimitReader(file, largest+1))
	switch {
	case err != nil:
		f.add(place{file: path}, "", "cannot be read: %v", cause(err))
		return nil, false
	case text.Len() > largest:
		f.add(place{file: path}, "move targets into files of their own, see include", "has more than %d MiB", largest>>20)
		return nil, false
	}
	return text.Bytes(), true
}

// note remembers in which order files are told about.
func (f *findings) note(path string) {
	if f.files == nil {
		f.files = map[string]int{}
	}
	if _, known := f.files[path]; !known {
		f.files[path] = len(f.files)
	}
}

// cause is the error without the path, which the fault names anyway.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// parse reads the one YAML document of a file, down to its root mapping. It is nil where there is none to go on with.
func (f *findings) parse(path string, data []byte) *yaml.Node {
	if i := invalid(data); i >= 0 {
		f.add(place{path, 1 + bytes.Count(data[:i], []byte("\n"))}, "save it as UTF-8", "is not UTF-8 text")
		return nil
	}
	if i := bytes.IndexAny(data, "\u0085\u2028\u2029"); i >= 0 {
		f.add(place{path, 1 + bytes.Count(data[:i], []byte("\n"))}, `in double quotes it is written \N, \L or \P`,
			"a line end that most editors do not show; YAML makes a space of it")
		return nil
	}
	docs := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := docs.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && empty(&doc):
		f.add(place{file: path}, "", "is empty")
		return nil
	case err != nil:
		f.syntax(path, data, err)
		return nil
	}
	var second yaml.Node
	if err := docs.Decode(&second); err == nil {
		f.add(place{path, second.Line}, "write one file for each", "a second document begins here")
	} else if !errors.Is(err, io.EOF) {
		f.syntax(path, data, err)
	}
	root := doc.Content[0]
	if !f.tidy(path, root) {
		return nil
	}
	return root
}

// invalid is where the text stops to be one; -1 where it is one.
func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r == 0 {
			return i
		}
		i += size
	}
	return -1
}

// empty tells whether a document says nothing: comments only, or null.
func empty(doc *yaml.Node) bool {
	return len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].ShortTag() == "!!null"
}

// located splits an error of yaml.v3, such as "yaml: line N: …", into its line and what it says.
func located(text string, otherwise int) (line int, message string) {
	text = strings.TrimPrefix(text, "yaml: ")
	number, message, named := strings.Cut(strings.TrimPrefix(text, "line "), ": ")
	line, err := strconv.Atoi(number)
	switch {
	case !named || err != nil || !strings.HasPrefix(text, "line "):
		return otherwise, text
	case line <= 0:
		return otherwise, message
	}
	return line, message
}

// fromParser tells whether a complaint is one of yaml.v3's parser, which counts lines from 0 where its scanner counts from 1.
func fromParser(message string) bool {
	what, is := strings.CutPrefix(message, "did not find expected ")
	return is && slices.ContainsFunc([]string{"<document start>", "node content", "'-' indicator", "key", "',' or"},
		func(begins string) bool { return strings.HasPrefix(what, begins) })
}

// syntax tells what YAML itself refuses. Where tabs indent a line they are the likely reason, and each is told.
func (f *findings) syntax(path string, data []byte, err error) {
	tabs, n := 0, 0
	for line := range strings.Lines(string(data)) {
		n++
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			f.add(place{path, n}, "indent with spaces", "a tab indents the line")
			tabs++
		}
	}
	line, message := located(err.Error(), 1)
	if strings.Contains(err.Error(), "yaml: line ") && fromParser(message) {
		line++
	}
	if tabs == 0 || !strings.Contains(message, "tab") && !strings.Contains(message, "cannot start") {
		f.add(place{path, min(line, n)}, "", "%s", fmt.Sprintf("is not YAML: %s", message))
	}
}

// foreign tells whether a file is another's than root's.
func foreign(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid != 0
}
