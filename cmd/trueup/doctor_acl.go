package main

import (
	"encoding/binary"
	"fmt"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// What an entry of an access list permits.
const (
	mayEnter = 1
	mayWrite = 2
	mayRead  = 4
	mayAll   = mayRead | mayWrite | mayEnter
)

// The kinds of entries, as the kernel numbers them.
const (
	aclOwner      = 0x01
	aclUser       = 0x02
	aclOwnerGroup = 0x04
	aclGroup      = 0x08
	aclMask       = 0x10
	aclOther      = 0x20
)

// An acl is who may do what in a folder: its access list, or what its mode says where it has none.
type acl struct {
	uid, gid, mode uint32
	entries        []aclEntry
}

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

// readACL reads a folder's access list.
func readACL(path string, st unix.Stat_t) acl {
	a := acl{uid: st.Uid, gid: st.Gid, mode: st.Mode & 0o7777}
	if a.entries = parseACL([]byte(attribute(path, "system.posix_acl_access"))); a.entries == nil {
		a.entries = []aclEntry{{aclOwner, uint16(st.Mode >> 6 & mayAll), 0}, {aclOwnerGroup, uint16(st.Mode >> 3 & mayAll), 0}, {aclOther, uint16(st.Mode & mayAll), 0}}
	}
	return a
}

// parseACL reads the attribute as the kernel writes it; nil for anything else.
func parseACL(raw []byte) (entries []aclEntry) {
	const version, head, size = 2, 4, 8
	if len(raw) < head || binary.LittleEndian.Uint32(raw) != version {
		return nil
	}
	for raw = raw[head:]; len(raw) >= size; raw = raw[size:] {
		entries = append(entries, aclEntry{binary.LittleEndian.Uint16(raw), binary.LittleEndian.Uint16(raw[2:]), binary.LittleEndian.Uint32(raw[4:])})
	}
	return entries
}

// String is the mode and the owners, as in 2770 root:web.
func (a acl) String() string {
	more := ""
	if a.listed() {
		more = "+"
	}
	return fmt.Sprintf("%04o%s %s:%s", a.mode, more, userName(a.uid), groupName(a.gid))
}

// listed tells whether there is more than owner, group and others.
func (a acl) listed() bool { return len(a.entries) > 3 }

// anybody is what those may do whom nothing else is about.
func (a acl) anybody() (perm uint16) {
	for _, e := range a.entries {
		if e.tag == aclOther {
			perm = e.perm
		}
	}
	return perm
}

// mask bounds all entries but the owner's and the others'.
func (a acl) mask() uint16 {
	for _, e := range a.entries {
		if e.tag == aclMask {
			return e.perm
		}
	}
	return mayAll
}

// An identity is a user with all groups.
type identity struct {
	name string
	uid  uint32
	gids []uint32
}

// identityOf is whom a service runs as; nil where that cannot be found out.
func identityOf(name string, own bool) *identity {
	account, err := user.Current()
	switch {
	case name != "":
		if account, err = user.Lookup(name); err != nil {
			account, err = user.LookupId(name)
		}
	case !own:
		account, err = user.LookupId("0")
	}
	if err != nil {
		return nil
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil
	}
	who := &identity{name: account.Username, uid: uint32(uid)}
	groups, _ := account.GroupIds() // without them less is permitted than is, and the primary one is known
	for _, g := range append(groups, account.Gid) {
		if gid, err := strconv.ParseUint(g, 10, 32); err == nil {
			who.gids = append(who.gids, uint32(gid))
		}
	}
	return who
}

// lets tells whether somebody may do all of it, as acl(5) has it. Root may do anything.
func (a acl) lets(who identity, want uint16) bool {
	if who.uid == 0 {
		return true
	}
	var other uint16
	matched, granted := false, false
	for _, e := range a.entries {
		switch {
		case e.tag == aclOwner && who.uid == a.uid:
			return e.perm&want == want
		case e.tag == aclUser && who.uid == e.id: // the owner's entry comes first
			return e.perm&a.mask()&want == want
		case e.tag == aclOwnerGroup && slices.Contains(who.gids, a.gid), e.tag == aclGroup && slices.Contains(who.gids, e.id):
			matched = true
			granted = granted || e.perm&a.mask()&want == want
		case e.tag == aclOther:
			other = e.perm
		}
	}
	if matched {
		return granted
	}
	return other&want == want
}

// writers are the users and groups whom the list by itself lets write, in order.
func (a acl) writers() (names []string) {
	for _, e := range a.entries {
		if e.perm&a.mask()&mayWrite != 0 && e.named() != "" {
			names = append(names, e.named())
		}
	}
	slices.Sort(names)
	return names
}

// masked are those whom the list lets write and the mask does not.
func (a acl) masked() (names []string) {
	for _, e := range a.entries {
		if e.perm&mayWrite != 0 && a.mask()&mayWrite == 0 && e.named() != "" {
			names = append(names, e.named())
		}
	}
	return names
}

// named is whom an entry is about, where it names somebody.
func (e aclEntry) named() string {
	switch e.tag {
	case aclUser:
		return "user " + userName(e.id)
	case aclGroup:
		return "group " + groupName(e.id)
	}
	return ""
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if account, err := user.LookupId(id); err == nil {
		return account.Username
	}
	return id
}

func groupName(gid uint32) string {
	id := strconv.FormatUint(uint64(gid), 10)
	if group, err := user.LookupGroupId(id); err == nil {
		return group.Name
	}
	return id
}
