package units

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// tenants are the adoptions of those users whose folders these are, or as whom the unit runs: root's gate and a user's
// would take each other's requests. Only those are asked, and only where their units usually are: an adoption elsewhere,
// or of a user who was merely given access, is not found.
func tenants(a Adoption, runsAs int) (found []record) {
	uids := []int{runsAs}
	for _, f := range a.named() {
		there, _ := existing(f.path)
		uids = append(uids, uidOf(there))
	}
	slices.Sort(uids)
	for _, uid := range slices.Compact(uids) {
		account, err := user.LookupId(strconv.Itoa(uid))
		if uid <= 0 || err != nil {
			continue
		}
		for _, r := range foreignRecords(filepath.Join(account.HomeDir, ".config/systemd/user")) {
			r.Unit += " (user " + account.Username + ")"
			found = append(found, r)
		}
	}
	return found
}

// foreignRecords is records where root reads what is a user's own. What is no plain file of a sensible size is left
// alone, and nothing follows from a record but a refusal.
func foreignRecords(dir string) (found []record) {
	dropins, _ := filepath.Glob(filepath.Join(globEscape(dir), "*.service.d", dropinName)) // the pattern is sound
	for _, path := range dropins {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		const most = 64 << 10
		var text []byte
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			text, _ = io.ReadAll(io.LimitReader(file, most))
		}
		file.Close()
		if r, ok := parseRecord(string(text)); ok {
			found = append(found, r)
		}
	}
	return found
}
