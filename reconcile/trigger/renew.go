package trigger

import "errors"

// Renew lets the next claim begin a new epoch, where the state folder may be a copy of another trigger's: nobody else counts
// in it. The next success covers the tickets of the old one, and the next claim is for everything. It needs no lock: who
// claims or settles at the same time goes on in the old epoch, as if Renew had not been called.
func Renew(state string) error {
	d, err := openDir(state)
	if err != nil {
		return err
	}
	defer d.close()
	return errors.Join(removeDurable(d, settledFile), removeDurable(d, claimFile)) // in this order: no claim is lost to an epoch that stays
}
