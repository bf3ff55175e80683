// Package ext4 reads ext4 file systems, and ext2 and ext3 as far as they are
// ext4 without some features, from an image or a device: names, targets and
// contents as they are stored, with the contexts of fscrypt that say how they
// are encrypted. It implements store.FileSystem and store.Xattrs.
//
// It never writes. A journal that has to be replayed is replayed in memory, as
// a map of which blocks are to be read from the log. Nothing is loaded whole: an
// open file system keeps a bounded cache of metadata blocks.
//
// What is read is not trusted. Each structure is checked before it is used, by
// its checksum too where the file system has them, and what is wrong gives a
// store.DamagedError that names the structure for whatever depends on it; the
// rest can still be read. No image makes it loop or allocate out of proportion.
//
// The format is that of Linux, described in Documentation/filesystems/ext4 of
// its source; names of fields in comments are those of fs/ext4/ext4.h.
package ext4
