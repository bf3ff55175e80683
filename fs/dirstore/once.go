package dirstore

import (
	"log/slog"
	"sync"
)

// maxSaid bounds the memory of a once.
const maxSaid = 4096

// A once logs each message about each lower path one time. After maxSaid of
// them it says so, and nothing more.
type once struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[[2]string]struct{}
}

func newOnce(log *slog.Logger) *once {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &once{log: log, said: make(map[[2]string]struct{})}
}

func (o *once) warn(message, path string, args ...any) {
	key := [2]string{message, path}
	o.mu.Lock()
	_, said := o.said[key]
	full := len(o.said) > maxSaid
	if !said && !full {
		o.said[key] = struct{}{}
	}
	last := !said && len(o.said) == maxSaid+1
	o.mu.Unlock()
	switch {
	case said || full:
	case last:
		o.log.Warn("too many messages about the cipher directory; the rest is not logged")
	default:
		o.log.Warn(message, append([]any{"path", path}, args...)...)
	}
}
