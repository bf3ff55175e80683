// Package extract copies trees out of a volume into a directory of the kernel's,
// with what the objects have beside their contents: owners, modes, times, extended
// attributes, hard links and holes.
//
// One goroutine walks through the source, depth first, and makes the directories.
// A pool of workers makes everything else, a worker an object, and workers without
// one help with the parts of large files. A directory gets its owner, attributes,
// mode and times when all in it is done.
//
// Nothing in the destination is reached by a path: each object is made relative to
// an open directory and no symbolic link is followed. An object is made in a folder
// beside the others, where nobody else may go, and gets its name with all it has,
// in one step. So what bears its name is complete, which is how an extraction that
// was interrupted is gone on with.
package extract
