// Package disk finds the file systems that lie inside of something else: in the
// partitions of a whole disk, and in image formats that are no plain copy of a
// disk.
//
// It reads an io.ReaderAt and never writes. Open looks through an image format,
// ReadTable lists the partitions that a GPT or an MBR describes, and Identify
// says what begins at some place. Nothing that it reads is trusted: numbers are
// checked against the size of the disk, chains end, and memory is bounded.
package disk
