// Command probe takes the web app's place in its container and means harm. `probe may` tries what a container could try and prints
// what came of each as JSON; `probe plant WHAT` lays something in the host's way.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

func main() {
	syscall.Umask(0)
	if len(os.Args) == 3 && os.Args[1] == "plant" {
		if err := plants[os.Args[2]](); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "inside" {
		for _, name := range []string{"/outbox", "/outbox/status.json"} {
			syscall.Unmount(name, syscall.MNT_DETACH)
			syscall.Mount("", name, "", syscall.MS_REMOUNT|syscall.MS_BIND, "")
		}
		if write("/outbox/more") != nil && write("/outbox/status.json") != nil && read("/proc/1/root/var/lib/trueup/trueup/state/settled") != nil {
			os.Exit(1)
		}
		return
	}
	came := map[string]string{}
	for name, try := range tries {
		came[name] = "done"
		if err := try(); err != nil {
			came[name] = err.Error()
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"uid": os.Getuid(), "gid": os.Getgid(), "came": came, "seen": seen()})
}

func write(name string) error { return os.WriteFile(name, []byte("x"), 0o666) }

func read(name string) error { _, err := os.ReadFile(name); return err }

var tries = map[string]func() error{
	"may: touch the sentinel":      func() error { return write("/spool/sentinel") },
	"may: ask for a target":        func() error { return write("/spool/requests/command:accounts") },
	"may: read the outbox":         func() error { return read("/outbox/status.json") },
	"may: write its own data":      func() error { return write("/data/probed") },
	"write status.json":            func() error { return write("/outbox/status.json") },
	"make a file in outbox":        func() error { return write("/outbox/more") },
	"make a folder in outbox":      func() error { return os.Mkdir("/outbox/folder", 0o777) },
	"rename over status.json":      func() error { return os.Rename("/spool/sentinel", "/outbox/status.json") },
	"rename status.json":           func() error { return os.Rename("/outbox/status.json", "/outbox/old") },
	"unlink status.json":           func() error { return os.Remove("/outbox/status.json") },
	"chmod status.json":            func() error { return os.Chmod("/outbox/status.json", 0o666) },
	"remount the outbox":           func() error { return syscall.Mount("", "/outbox", "", syscall.MS_REMOUNT|syscall.MS_BIND, "") },
	"link status.json":             func() error { return os.Link("/outbox/status.json", "/spool/linked") },
	"link its list":                func() error { return os.Link("/data/accounts.json", "/spool/requests/linked") },
	"chown the spool":              func() error { return os.Chown("/spool", os.Getuid(), os.Getgid()) },
	"chmod the spool":              func() error { return os.Chmod("/spool", 0o777) },
	"the state beside":             func() error { return read("/spool/../state/settled") },
	"the state from the top":       func() error { return read("/var/lib/trueup/trueup/state/settled") },
	"the state by a link":          linked("/spool/state", "../state/settled"),
	"the host by a link":           linked("/spool/passwd", "/var/lib/trueup/trueup/state/settled"),
	"the host by PID 1":            func() error { return read("/proc/1/root/var/lib/trueup/trueup/state/settled") },
	"the host's parent folder":     func() error { return read("/spool/../../trueup/state/settled") },
	"the spool by its handle":      byHandle,
	"a device":                     func() error { return syscall.Mknod("/spool/null", syscall.S_IFCHR|0o666, 1<<8|3) },
	"a disk":                       func() error { return syscall.Mknod("/data/disk", syscall.S_IFBLK|0o666, 254<<8) },
	"be root":                      func() error { return syscall.Setuid(0) },
	"a mount":                      func() error { return syscall.Mount("none", "/data", "tmpfs", 0, "") },
	"a namespace of mounts":        func() error { return syscall.Unshare(syscall.CLONE_NEWNS) },
	"outbox, as a root of its own": inside,
	"write its own image":          func() error { return write("/more") },
	"systemd's socket":             func() error { return read("/run/systemd/private") },
	"the bus":                      func() error { return read("/run/dbus/system_bus_socket") },
	"podman's socket":              func() error { return read("/run/podman/podman.sock") },
}

// inside tries it where it has every right: in namespaces of users and mounts of its own, if it gets them.
func inside() error {
	cmd := exec.Command("/proc/self/exe", "inside")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}}
	return cmd.Run()
}

// linked reads through a link of its own.
func linked(link, to string) func() error {
	return func() error {
		defer os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			return nil // counts as done: the link has to be tried
		}
		return read(link)
	}
}

// byHandle opens a folder by number, past every mount: the way out of containers that may search everything.
func byHandle() error {
	handle := make([]byte, 8+128)
	*(*uint32)(unsafe.Pointer(&handle[0])) = 8 // bytes of an inode and its generation
	*(*int32)(unsafe.Pointer(&handle[4])) = 1
	*(*uint32)(unsafe.Pointer(&handle[8])) = 2 // the root of most file systems
	dir, err := syscall.Open("/spool", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	const openByHandleAt = 304
	_, _, errno := syscall.Syscall(openByHandleAt, uintptr(dir), uintptr(unsafe.Pointer(&handle[0])), syscall.O_RDONLY)
	if errno != 0 {
		return errno
	}
	return nil
}

// seen is all that can be read, but its own data, its own program and the kernel's files: names of files, and what is in them.
func seen() []string {
	var all []string
	filepath.WalkDir("/", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && strings.Contains(" /proc /sys /dev /data ", " "+name+" "):
			return fs.SkipDir
		}
		all = append(all, name)
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.Size() < 1<<20 {
			if text, err := os.ReadFile(name); err == nil {
				all = append(all, string(text))
			}
		}
		return nil
	})
	return all
}

var plants = map[string]func() error{
	"entries": func() error {
		long := strings.Repeat("x", 240)
		for name, to := range map[string]string{"/spool/sentinel": "/etc/canary", "/spool/requests/command:accounts": "/etc/canary.d",
			"/spool/requests/up": "../../state", "/spool/requests/shadow": "/etc/shadow", "/spool/requests/loop": "loop"} {
			os.Remove(name)
			if err := os.Symlink(to, name); err != nil {
				return err
			}
		}
		for _, name := range []string{"a\nb", "-rf", ".hidden", long, "$(touch etc)", "ünïcode", "known:target"} {
			if err := write("/spool/requests/" + name); err != nil {
				return err
			}
		}
		return errors.Join(os.MkdirAll("/spool/requests/tree/of/folders", 0o777), write("/spool/requests/tree/of/folders/file"),
			os.Chmod("/spool/requests/tree", 0), syscall.Mkfifo("/spool/requests/pipe", 0o666), os.Link("/spool/requests/-rf", "/spool/requests/hard"))
	},
	"requests": func() error {
		return errors.Join(os.RemoveAll("/spool/moved"), os.Rename("/spool/requests", "/spool/moved"),
			os.Symlink("/etc/canary.d", "/spool/requests"), syscall.Mkfifo("/spool/sentinel", 0o666))
	},
	"secret":  func() error { return list(func(name string) error { return os.Symlink("/etc/canary.json", name) }) },
	"pipe":    func() error { return list(func(name string) error { return syscall.Mkfifo(name, 0o666) }) },
	"endless": func() error { return list(func(name string) error { return os.Symlink("/dev/zero", name) }) },
	"rows": func() error {
		text, err := json.Marshal(hostile)
		return errors.Join(err, list(func(name string) error { return os.WriteFile(name, text, 0o600) }))
	},
	"among good rows": func() error {
		return list(func(name string) error {
			text, err := os.ReadFile(name + ".kept")
			var rows []map[string]any
			err = errors.Join(err, json.Unmarshal(text, &rows))
			text, err2 := json.Marshal(append(rows, hostile...))
			return errors.Join(err, err2, os.WriteFile(name, text, 0o600))
		})
	},
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAdaLaptop"

// hostile are rows that ask for other things than an account.
var hostile = []map[string]any{
	{"name": "root", "uid": 0, "key": key}, {"name": "../../up", "uid": 29001, "key": key}, {"name": "a:b", "uid": 29002, "key": key},
	{"name": "-x", "uid": 29003, "key": key}, {"name": "nl\nroot", "uid": 29004, "key": key}, {"name": "big", "uid": 1e9, "key": key},
	{"name": "opt", "uid": 29005, "key": `command="id" ` + key}, {"name": "two", "uid": 29006, "key": key + "\n" + key},
	{"name": []string{"x"}, "uid": "29007", "key": nil}, {"name": "$(id)", "uid": 29008, "key": key},
}

// list puts something in the place of the list, which is kept beside it.
func list(put func(name string) error) error {
	const name = "/data/accounts.json"
	os.Rename(name, name+".kept")
	return put(name)
}
