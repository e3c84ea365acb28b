package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// included are the files that the globs find, each once, in the order of their names. A glob that finds nothing is a fault:
// what stood there may be on a disk that is not mounted, and its targets are not to be taken for gone.
func (l *loader) included(path string) []string {
	var files []string
	for i, pattern := range l.config.Include {
		at := l.config.origins[fmt.Sprintf("include[%d]", i)]
		full := pattern
		if !filepath.IsAbs(full) {
			full = filepath.Join(filepath.Dir(path), full)
		}
		found, err := filepath.Glob(full)
		if err != nil {
			l.add(at, "", "include: %q is no glob", pattern)
			continue
		}
		unread := unreadable(full)
		for _, err := range unread {
			l.add(at, "", "include: %v", err)
		}
		if len(found) == 0 && len(unread) == 0 {
			l.nothing(at, full)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(files) > mostFiles {
		l.add(l.config.origins["include"], "", "include: %d files, more than %d", len(files), mostFiles)
		return nil
	}
	return slices.DeleteFunc(files, func(file string) bool { return same(file, path) })
}

// nothing says why a pattern finds nothing.
func (l *loader) nothing(at place, pattern string) {
	const hint = "mount what belongs there; who wants no target has a file there that says targets: []"
	dir := filepath.Dir(pattern)
	_, err := os.Stat(dir)
	switch {
	case !globs(pattern):
		l.add(at, "", "include: there is no file %s", pattern)
	case !globs(dir) && err != nil:
		l.add(at, hint, "include: there is no folder %s", dir)
	default:
		l.add(at, hint, "include: no file is found by %s", pattern)
	}
}

// globs tells whether a path is a glob.
func globs(path string) bool { return strings.ContainsAny(path, `*?[\`) }

// unreadable are the reasons why folders cannot be listed that a glob has to look into. filepath.Glob passes over them.
func unreadable(glob string) (why []error) {
	if !globs(glob) {
		return nil
	}
	dir := filepath.Dir(glob)
	why = unreadable(dir)
	dirs, _ := filepath.Glob(dir) // it is well formed, as the whole glob is
	for _, dir := range dirs {
		if _, err := os.ReadDir(dir); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			why = append(why, err)
		}
	}
	return why
}

// same tells whether two paths lead to one file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
