package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// PageSize is what is asked for of each page. Servers give less where they will.
const PageSize = 50

const (
	readings = 3       // how often a list is read that changes under the reading
	most     = 500_000 // things in one list: a server that has more, or never comes to an end, is not read
)

var errMoved = errors.New("it changes while it is read")

// All reads a list to its end. A page may be shorter than what was asked for, and says nothing of the end: the end is where as
// many things have come as X-Total-Count says there are, where no Link leads on, or, where the server says neither, an empty
// page. A list of which a page is missing, that has something twice or without a number, or that has no end, is an error.
func All[T any](name string, id func(T) int64, read func(page int) ([]T, http.Header, error)) ([]T, error) {
	for n := 1; ; n++ {
		all, err := once(id, read)
		if err == nil {
			return all, nil
		}
		if !errors.Is(err, errMoved) || n == readings {
			return nil, fmt.Errorf("listing %s: %w", name, err)
		}
	}
}

func once[T any](id func(T) int64, read func(page int) ([]T, http.Header, error)) (all []T, err error) {
	total, seen := -1, map[int64]bool{}
	for page := 1; ; page++ {
		part, header, err := read(page)
		if err != nil {
			return nil, err
		}
		if said := header.Get("X-Total-Count"); said != "" {
			now, err := strconv.Atoi(said)
			if err != nil || now < 0 {
				return nil, fmt.Errorf("X-Total-Count %q is no number", said)
			}
			if total >= 0 && now != total {
				return nil, fmt.Errorf("%w: %d things, then %d", errMoved, total, now)
			}
			total = now
		}
		for _, one := range part {
			if id(one) == 0 {
				return nil, errors.New("something in it has no number")
			}
			if seen[id(one)] {
				return nil, fmt.Errorf("%w: number %d is there twice", errMoved, id(one))
			}
			seen[id(one)] = true
		}
		all = append(all, part...)
		switch {
		case max(len(all), total) > most || page > most/PageSize:
			return nil, fmt.Errorf("it has more than %d things or %d pages", most, most/PageSize)
		case total >= 0 && len(all) > total, total >= 0 && len(all) < total && len(part) == 0:
			return nil, fmt.Errorf("%w: it is to have %d things, and %d came", errMoved, total, len(all))
		case len(all) == total:
			return all, nil
		case total < 0 && header.Get("Link") != "" && !strings.Contains(header.Get("Link"), `rel="next"`), len(part) == 0:
			return all, nil
		}
	}
}
