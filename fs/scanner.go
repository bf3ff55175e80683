package fs

import "sync"

// scanners tells by what processes did whether they will read the files of a
// directory that they list. What is stored ahead comes without a READ, so that now
// and then a file, a probe, is not stored, to see whether it is read. When it is
// read cannot be told, as there may be a whole tree to be read before.
type scanners struct {
	mu sync.Mutex
	of map[uint32]*scanner // by process (that is, thread); guarded by mu
}

// A scanner is what is known of a process that lists directories.
type scanner struct {
	hits   int // files that it listed and then read, since it was last found out not to
	needed int // before it is trusted
	dirs   int // that it has listed since it last read such a file
	files  int // that could be stored for it
}

const (
	firstHits    = 4    // that make a process a scanner
	mostHits     = 1024 // however often it disappoints
	probeEach    = 128  // of so many files one is a probe
	suspectDirs  = 16   // a process may list before it has read a file
	trustedDirs  = 64   // a scanner may list without reading a file that was not stored
	maxProcesses = 256  // that are remembered
)

// list records that a process lists a directory.
func (s *scanners) list(process uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of[process]
	if p == nil {
		if s.of == nil || len(s.of) >= maxProcesses {
			s.of = map[uint32]*scanner{}
		}
		p = &scanner{needed: firstHits}
		s.of[process] = p
	}
	p.dirs++
	if p.dirs > trustedDirs && p.hits >= p.needed {
		p.hits, p.needed = 0, min(2*p.needed, mostHits)
	}
}

// hit records that a process has read a file that it had listed.
func (s *scanners) hit(process uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[process]; p != nil {
		p.hits++
		p.dirs = 0
	}
}

// trusted reports whether a process is expected to read what it lists.
func (s *scanners) trusted(process uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of[process]
	return p != nil && p.hits >= p.needed
}

// suspected reports whether a process that lists a directory may turn out to be a
// scanner. Those of another PID namespace cannot be told apart, and have number 0.
func (s *scanners) suspected(process uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of[process]
	return process != 0 && p != nil && (p.hits >= p.needed || p.dirs <= suspectDirs)
}

// probe counts a file that could be stored for a process, and reports whether it is
// a probe.
func (s *scanners) probe(process uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of[process]
	if p == nil {
		return false
	}
	p.files++
	return p.files%probeEach == probeEach/4
}
