package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrCopied means that the trigger's state folder was copied between nodes: another one counts its claims in the same epoch,
// and what one of them has settled would cover the other's tickets.
var ErrCopied = errors.New("its trigger's folder is a copy of another node's")

// Alone is ErrCopied where another node's trigger counts its claims in the epoch too. On one host's own ledger there is nobody
// else; what another node has left in it came with the ledger.
func (r *Reconciler) Alone(ctx context.Context, epoch string) error {
	if epoch == "" || r.Host == nil {
		return nil
	}
	records, err := r.Ledger.Records(ctx, claimFamily, "")
	if err != nil {
		return err
	}
	own := nodeOf(r.owner())
	for _, found := range records {
		var last Claim
		if node := nodeOf(found.Key); node == "" || node == own || json.Unmarshal(found.Value, &last) != nil {
			continue
		}
		if last.Epoch == epoch {
			return fmt.Errorf("node %s counts in epoch %s too: %w", nodeOf(found.Key), epoch, ErrCopied)
		}
	}
	return nil
}

// begun looks once more when the first claim of an epoch is on record, since two copies may begin at the same time. Who comes
// second takes back what both have asked: their numbers are mixed up, so no ticket is covered until it is asked again.
func (r *Reconciler) begun(ctx context.Context, claim *Claim) error {
	copied := r.Alone(ctx, claim.Epoch)
	if !errors.Is(copied, ErrCopied) {
		return copied
	}
	own, err := r.ownRecord(ctx, claimFamily)
	if err == nil {
		err = r.Ledger.Commit(ctx, Batch{Gone: []string{claim.Epoch}, Records: []Write{{Family: claimFamily, Key: own.Key, Revision: own.Revision}}})
	}
	return errors.Join(copied, err)
}

// nodeOf is the node that an owner is on; empty for one of a ledger that is not shared, which has no node before its folder.
func nodeOf(owner string) string {
	node, _, _ := strings.Cut(owner, " ")
	if strings.HasPrefix(node, "/") {
		return ""
	}
	return node
}
