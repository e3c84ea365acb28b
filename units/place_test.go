package units

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// CTR-19: a layer of an image is no place for a folder, whichever engine keeps it and however it is called; a volume is one.
func TestLayersAreRefused(t *testing.T) {
	t.Parallel()
	for path, refused := range map[string]bool{
		"/var/lib/docker/overlay2/3f/diff/srv/spool":                                      true,
		"/var/lib/docker/overlay2/3f/merged/spool":                                        true,
		"/var/lib/containers/storage/overlay/3f/diff/spool":                               true,
		"/home/op/.local/share/containers/storage/overlay/3f/diff/spool":                  true,
		"/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs/spool": true,
		"/var/lib/docker/volumes/web/_data/spool":                                         false,
		"/home/op/.local/share/containers/storage/volumes/web/_data":                      false,
		"/var/lib/trueup/overlay2x/spool":                                                 false,
		"/var/lib/trueup/web/spool":                                                       false,
	} {
		_, err := refusePlace("web.service", "spool", path)
		refusal, is := errors.AsType[*Refusal](err)
		if is != refused || is && (!strings.Contains(refusal.Reason, "in a layer of a container's image") || !strings.Contains(refusal.Hint, "--spool")) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// CTR-19: an overlay that is mounted is told by its name, also where statfs gives it the number of the disk below.
func TestOverlayIsTold(t *testing.T) {
	t.Parallel()
	if name, err := fileSystem("/"); err != nil || name == "overlay" {
		t.Errorf("the root is on %q, %v", name, err)
	}
	if name, err := fileSystem(overlayIn(t, t.TempDir())); err != nil || name != "overlay" {
		t.Errorf("it is on %q, %v", name, err)
	}
}

// overlayIn mounts an overlay whose layers are in a folder; on a tmpfs in it where that folder is on an overlay itself, which
// can carry no other.
func overlayIn(t *testing.T, dir string) string {
	t.Helper()
	mount := func(uuid string) (string, error) {
		for _, name := range []string{"lower", "upper", "work", "merged"} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		merged := filepath.Join(dir, "merged")
		return merged, unix.Mount("trueup", merged, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work%[2]s", dir, uuid))
	}
	unmount := func(path string) func() {
		return func() {
			if err := unix.Unmount(path, 0); err != nil {
				t.Error(err)
			}
		}
	}
	merged, err := mount(",uuid=null") // as all are on kernels before 6.6, which know no such word
	if err != nil {
		merged, err = mount("")
	}
	if err != nil {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(unmount(dir))
		if merged, err = mount(""); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(unmount(merged))
	return merged
}
