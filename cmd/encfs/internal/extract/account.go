package extract

import "sync/atomic"

// An Account says what was done.
type Account struct {
	Files, Dirs, Symlinks int64 // made, with their metadata
	Special               int64 // devices, FIFOs and sockets made
	Links                 int64 // further names of what was made
	Bytes                 int64 // of data in the files, which holes are not
	Unlinked              int64 // further names that became copies of their own, as the destination has no links
	Kept                  int64 // objects that were complete already
	Failed                int64 // objects that were not copied
	Incomplete            int64 // objects that were copied without some of their data or metadata
	Owners                int64 // objects that could not be given to their owner or group
	Attributes            int64 // attributes that only root may set, left out
}

// counts is an Account in the making.
type counts struct {
	files, dirs, symlinks, special, links, bytes,
	unlinked, kept, failed, incomplete, owners, attributes atomic.Int64
}

func (c *counts) account() Account {
	return Account{
		Files: c.files.Load(), Dirs: c.dirs.Load(), Symlinks: c.symlinks.Load(), Special: c.special.Load(),
		Links: c.links.Load(), Bytes: c.bytes.Load(), Unlinked: c.unlinked.Load(), Kept: c.kept.Load(), Failed: c.failed.Load(),
		Incomplete: c.incomplete.Load(), Owners: c.owners.Load(), Attributes: c.attributes.Load(),
	}
}
