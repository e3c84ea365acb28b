package main

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Less than this is worth a warning: a claim takes a few hundred bytes, a ledger some megabytes.
const (
	littleSpace = 64 << 20 // bytes
	fewInodes   = 1000
)

// containerLabel is the SELinux type that containers may write.
const containerLabel = "container_file_t"

// checkDirs judges the folders beyond what status and adopt look at.
func (a patient) checkDirs(c *checks) {
	a.checkAccess(c)
	a.checkACL(c)
	a.checkLabel(c)
	for _, d := range a.dirs {
		if d.err != nil {
			continue // which status has told
		}
		if d.mounts > 0 && d.role != "state" {
			do := "# start trueup watch anew after each mount"
			if a.unit != "" {
				do = a.systemctl("restart "+quoted(a.stem()+".path")) + " # after each mount"
			}
			c.add(isNote, "folders.mount", do, "%s is a mount of its own (%d of them): one that comes when the path unit watches already is not noticed",
				d.path, d.mounts)
		}
		if d.role != "requests" && (d.role != "state" || a.stateErr == nil) {
			d.checkSpace(c, "folders.space")
		}
	}
}

// checkSpace judges the room for what is written there.
func (d dirFacts) checkSpace(c *checks, id string) {
	if err := full(d.disk); err != nil {
		c.add(isWrong, id, "df -h "+quoted(d.path)+"; df -i "+quoted(d.path), "%s: %v", d.path, err)
	} else if what, do := d.cramped(1); what != "" {
		c.add(isWarning, id, do, "%s", what)
	} else {
		c.ok(id, "%s has room", d.path)
	}
}

// cramped tells of a folder with less room than so many times the least; empty where it has enough.
func (d dirFacts) cramped(times uint64) (what, do string) {
	free := d.disk.Bavail * uint64(max(d.disk.Bsize, 0))
	switch {
	case d.disk.Blocks > 0 && free < times*littleSpace:
		return fmt.Sprintf("%s has room for %d MiB only", d.path, free>>20), "df -h " + quoted(d.path)
	case d.disk.Files > 0 && d.disk.Ffree < times*fewInodes:
		return fmt.Sprintf("%s has room for %d files only", d.path, d.disk.Ffree), "df -i " + quoted(d.path)
	}
	return "", ""
}

// checkAccess judges whether the service's user can work in the folders, and whether everybody can.
func (a patient) checkAccess(c *checks) {
	well := true
	for _, d := range a.dirs {
		if d.err != nil || d.role == "state" && a.stateErr != nil {
			continue
		}
		if who := a.host.runsAs; who != nil && !d.acl.lets(*who, mayAll) {
			well = false
			c.add(isWrong, "folders.access", d.give(*who),
				"the service runs as %s, who may not read, write and enter %s (%s)", who.name, d.path, d.acl)
		}
		if d.acl.anybody()&mayWrite != 0 {
			well = false
			do := "chmod o-w " + quoted(d.path)
			if a.unit != "" {
				do += " && " + a.trueup("adopt", a.unit) + " --web-group GROUP"
			}
			c.add(isWarning, "folders.access", do, "everybody on this host may write %s (%s)", d.path, d.acl)
		}
	}
	if well && a.host.runsAs != nil {
		c.ok("folders.access", "the service's user, %s, can work in them, and not everybody can", a.host.runsAs.name)
	}
}

// give lets somebody in: the spool may be another's on purpose, the other two are the service's own.
func (d dirFacts) give(who identity) string {
	if d.role == "spool" || d.role == "requests" {
		return fmt.Sprintf("setfacl -m u:%s:rwx %s", quoted(who.name), quoted(d.path))
	}
	return fmt.Sprintf("chown -R %s %s", quoted(who.name), quoted(d.path))
}

// checkACL judges what an access list says that is of no effect, or holds for half of the spool.
func (a patient) checkACL(c *checks) {
	var spool, requests *dirFacts
	listed := false
	for i, d := range a.dirs {
		if d.err != nil {
			continue
		}
		listed = listed || d.acl.listed()
		if masked := d.acl.masked(); len(masked) > 0 {
			c.add(isWarning, "folders.acl", "setfacl -m m::rwx "+quoted(d.path), "the mask of the access list of %s takes writing away from %s: a chmod has set it",
				d.path, strings.Join(masked, ", "))
		}
		switch d.role {
		case "spool":
			spool = &a.dirs[i]
		case "requests":
			requests = &a.dirs[i]
		}
	}
	if spool != nil && requests != nil && strings.Join(spool.acl.writers(), " ") != strings.Join(requests.acl.writers(), " ") {
		c.add(isWarning, "folders.acl", fmt.Sprintf("getfacl -cp %s | setfacl --set-file=- %s", quoted(spool.path), quoted(requests.path)),
			"the access lists of %s and its requests/ let different ones write, so some can ask for everything or for names alone", spool.path)
		return
	}
	if listed {
		c.ok("folders.acl", "access lists are as effective as they look")
	}
}

// checkLabel judges what SELinux lets a container do.
func (a patient) checkLabel(c *checks) {
	if !a.host.selinux {
		c.ok("folders.label", "SELinux is off")
		return
	}
	for _, d := range a.dirs {
		if d.err != nil || d.role == "state" {
			continue
		}
		if strings.Contains(d.label, ":"+containerLabel+":") {
			c.ok("folders.label", "%s is labelled %s", d.path, containerLabel)
			continue
		}
		c.add(isWarning, "folders.label", "chcon -R -t "+containerLabel+" "+quoted(d.path),
			"%s is labelled %q: SELinux keeps a container out of it", d.path, d.label)
	}
}

// readOnly tells of a folder on a file system that takes no writes.
func readOnly(path string) error {
	if err := unix.Access(path, unix.W_OK); errors.Is(err, unix.EROFS) {
		return err
	}
	return nil
}
