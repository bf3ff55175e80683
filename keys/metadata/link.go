package metadata

import "strings"

// A Link says on which file system a linked protector is. Either field may be empty;
// the UUID counts if both are there.
type Link struct {
	UUID string // of the file system, in lower case
	Path string // where it was mounted
}

// String returns the fields as the file has them, on one line.
func (l Link) String() string {
	var f []string
	if l.UUID != "" {
		f = append(f, "UUID="+l.UUID)
	}
	if l.Path != "" {
		f = append(f, "PATH="+l.Path)
	}
	return strings.Join(f, " ")
}

// parseLink reads the contents of a .link file: lines KEY=value, of which UUID and
// PATH count. The error is an ErrDamaged if neither is there.
func parseLink(b []byte) (Link, error) {
	var l Link
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "UUID":
			l.UUID = strings.ToLower(value)
		case "PATH":
			l.Path = value
		}
	}
	if l == (Link{}) {
		return Link{}, damaged("neither UUID nor PATH")
	}
	return l, nil
}
