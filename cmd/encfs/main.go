// Command encfs keeps files encrypted as Linux fscrypt does, in user space: it
// makes cipher directories, mounts them through FUSE, and reads them without.
//
// Each command is a file: its constructor, its flags, and the function that
// does the work, which takes plain values and a writer. What fails becomes an
// exit code and a remedy in one place, exit.go.
package main

import "os"

func main() {
	os.Setenv("PATH", searchPath(os.Getenv("PATH")))
	os.Exit(run(arguments(os.Args), os.Stdin, os.Stdout, os.Stderr))
}
