package units

import (
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// ownerOf finds whom the unit runs as: numbers of its User= and Group=, names or numbers.
func ownerOf(p properties) (owner, error) {
	own := owner{-1, -1}
	if p.User != "" {
		fields, err := lookup("passwd", p.User, func(s string) ([]string, error) {
			u, err := user.Lookup(s)
			if err != nil {
				return nil, err
			}
			return []string{u.Uid, u.Gid}, nil
		})
		if err != nil {
			return own, err
		}
		own = owner{fields[0], fields[1]}
	}
	if p.Group != "" {
		gid, err := groupID(p.Group)
		if err != nil {
			return own, err
		}
		own.gid = gid
	}
	return own, nil
}

func groupID(name string) (int, error) {
	fields, err := lookup("group", name, func(s string) ([]string, error) {
		g, err := user.LookupGroup(s)
		if err != nil {
			return nil, err
		}
		return []string{g.Gid}, nil
	})
	if err != nil {
		return -1, err
	}
	return fields[0], nil
}

// lookup resolves a name: a number is itself, then the files that Go reads, then whatever getent knows (a static
// binary has no NSS of its own).
func lookup(database, name string, local func(string) ([]string, error)) ([]int, error) {
	if id, err := strconv.Atoi(name); err == nil {
		return []int{id, -1}, nil
	}
	ids, err := local(name)
	if err != nil {
		line, _ := exec.Command("getent", database, name).Output()
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 4 {
			return nil, fmt.Errorf("looking up %s in %s: %w", name, database, err)
		}
		ids = fields[2:4]
	}
	out := []int{-1, -1}
	for i, id := range ids[:min(2, len(ids))] {
		if out[i], err = strconv.Atoi(id); err != nil && i == 0 {
			return nil, fmt.Errorf("looking up %s in %s: %w", name, database, err)
		}
	}
	return out, nil
}
