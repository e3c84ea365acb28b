package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	firstUID = 20000 // the host takes 20000 to 29999, and decides so itself
	most     = 500   // accounts; the host takes no more
)

// What the form may hold. The host checks all of it again: it does not trust this program.
var (
	validName = regexp.MustCompile(`^[a-z][a-z0-9]{1,19}$`)
	validKey  = regexp.MustCompile(`^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{16,1000}={0,2}( [!-~][ -~]{0,99})?$`)
)

var (
	errName  = errors.New("a name has 2 to 20 small letters or digits, and begins with a letter")
	errKey   = errors.New("this is no public key; paste the one line of ~/.ssh/id_ed25519.pub")
	errTaken = errors.New("this name is taken")
	errFull  = errors.New("no more accounts are given out")
)

// An account is what somebody has signed up for. ID is in the address of its page, and cannot be guessed.
type account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	UID  int    `json:"uid"`
	Key  string `json:"key"`
}

// A book is the app's database: a list of accounts in a file that is replaced whole.
type book struct {
	mu       sync.Mutex
	file     string
	accounts []account
}

func openBook(file string) (*book, error) {
	b := &book{file: file}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &b.accounts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the accounts in %s: %w", file, err)
	}
	return b, nil
}

// add commits an account: when it returns, the account is on the disk, and the host can read it.
func (b *book) add(name, key string) (account, error) {
	name, key = strings.TrimSpace(name), strings.TrimSpace(key)
	switch {
	case !validName.MatchString(name):
		return account{}, errName
	case !validKey.MatchString(key):
		return account{}, errKey
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.accounts) >= most {
		return account{}, errFull
	}
	a := account{ID: rand.Text(), Name: name, UID: firstUID, Key: key}
	for _, other := range b.accounts {
		if other.Name == name {
			return account{}, errTaken
		}
		a.UID = max(a.UID, other.UID+1)
	}
	more := append(slices.Clone(b.accounts), a)
	if err := replace(b.file, more); err != nil {
		return account{}, fmt.Errorf("writing the accounts to %s: %w", b.file, err)
	}
	b.accounts = more
	return a, nil
}

func (b *book) all() []account {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.accounts)
}

// find is the account whose page has this address.
func (b *book) find(id string) (account, bool) {
	for _, a := range b.all() {
		if a.ID == id {
			return a, true
		}
	}
	return account{}, false
}

// replace puts a list in the place of the old one: who reads the file, also after a power cut, finds one of the two whole.
func replace(file string, list []account) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := write(file+".new", append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// write writes a file and has it on the disk when it returns.
func write(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
