package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// A copy is a document as an address last answered it, with the tag by which the server knows it again.
type copied struct {
	Address string `json:"address"`
	Tag     string `json:"tag"`
	Sum     string `json:"sum"` // of Data: a copy that was written in part is none
	Data    []byte `json:"data"`
}

// KeepCopies has documents that come over HTTP with an ETag kept in a folder, which is made where it is not there, for the
// readers of later sweeps: what has not changed is not sent again. A copy is only used on the server's word that it holds.
// Where the folder cannot be written or read, documents are sent whole.
func (r *Reader) KeepCopies(dir string) { r.copies = dir }

func (r *Reader) copyFile(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(r.copies, hex.EncodeToString(sum[:8])+".json")
}

// copyOf gives the copy that is kept of an address, or an empty one.
func (r *Reader) copyOf(address string) (c copied) {
	if r.copies == "" {
		return copied{}
	}
	text, err := settled(func() (file, error) { return os.Open(r.copyFile(address)) })
	if err != nil || json.Unmarshal(text, &c) != nil || c.Address != address || c.Sum != digest(c.Data) {
		return copied{}
	}
	return c
}

// keepCopy keeps what an address has answered. That it cannot is no fault: the next reading takes longer.
func (r *Reader) keepCopy(address, tag string, data []byte) {
	if r.copies == "" || tag == "" || len(data) > Largest/2 { // it is read back within the bound of a document
		return
	}
	text, err := json.Marshal(copied{address, tag, digest(data), data})
	if err != nil || os.MkdirAll(r.copies, 0o700) != nil {
		return
	}
	whole, err := os.CreateTemp(r.copies, ".copy-")
	if err != nil {
		return
	}
	_, err = whole.Write(text)
	if closing := whole.Close(); err == nil && closing == nil {
		err = os.Rename(whole.Name(), r.copyFile(address))
	}
	if err != nil {
		_ = os.Remove(whole.Name())
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
