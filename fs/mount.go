package fs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/workqueue"
)

// Sizes of requests, in bytes: the largest that the kernel sends.
const (
	maxRequest   = 1 << 20
	maxReadAhead = 1 << 20
)

// maxBackground is how many requests for read-ahead and the like the kernel has
// in flight.
const maxBackground = 64

// MountOptions says how a volume is mounted. Permissions are checked by the kernel
// (default_permissions), except those of a kernel's file system that only the
// mounting user can get into: its users are those of another machine, and whoever
// has the image and the keys may read it all.
type MountOptions struct {
	AllowOther bool     // other users than the mounting one may use it
	Source     string   // what /proc/mounts shows as the device
	Options    []string // more options of mount(2) or fusermount3, such as noexec
	Control    string   // path of a socket that StatusXattr names; "" if there is none
	Partition  int      // of the source, which StatusXattr names; 0 if it is not said

	Without []Shortcut // not to be taken
}

// A Server is a mounted volume.
type Server struct {
	fuse *fuse.Server
	done chan struct{}
}

// Mount mounts a volume at a directory, with mount(2) where the process may and
// otherwise with fusermount3. It returns when the mount answers. The volume must
// stay open until Wait returns.
func Mount(v *Volume, mountPoint string, o MountOptions) (*Server, error) {
	f, err := newFS(v)
	if err != nil {
		return nil, fmt.Errorf("fs: mount: %w", err)
	}
	f.control, f.partition = o.Control, o.Partition
	options := slices.Clone(o.Options)
	checked := v.system == nil || o.AllowOther
	f.takeShortcuts(o.Without, checked)
	if checked {
		options = append(options, "default_permissions")
	}
	if v.ReadOnly() {
		options = append(options, "ro")
	}
	capabilities := uint64(fuse.CAP_DONT_MASK | fuse.CAP_SETXATTR_EXT)
	if f.killPriv {
		capabilities |= fuse.CAP_HANDLE_KILLPRIV_V2
	}
	log := v.opts.Log
	srv, err := fuse.NewServer(&countedFS{f, v.counters}, mountPoint, &fuse.MountOptions{
		Name:        "encfs",
		FsName:      o.Source,
		Options:     options,
		AllowOther:  o.AllowOther,
		DirectMount: true,

		MaxWrite:                 maxRequest,
		MaxReadAhead:             maxReadAhead,
		MaxBackground:            maxBackground,
		ExplicitDataCacheControl: !v.opts.Shared,
		DisableSplice:            true,
		// The kernel enforces ACLs only if asked to, and a default ACL takes
		// the place of the umask, which therefore is left to us.
		EnableAcl:         checked, // which has the kernel check permissions by itself
		ExtraCapabilities: capabilities,
		Logger:            slog.NewLogLogger(log.Handler(), slog.LevelInfo),
		PanicHandler: func(p any) fuse.Status {
			log.Error("panic in a request", "value", fmt.Sprint(p), "stack", string(debug.Stack()))
			return fuse.EIO
		},
	})
	if err != nil {
		return nil, fmt.Errorf("fs: mount: %w", err)
	}
	s := &Server{fuse: srv, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		srv.Serve()
		if f.ahead != nil {
			f.ahead.stop()
		}
	}()
	if f.ahead != nil {
		f.ahead.storeIn(srv)
	}
	if err := srv.WaitMount(); err != nil {
		if srv.Unmount() == nil {
			s.Wait()
		}
		return nil, fmt.Errorf("fs: mount: %w", err)
	}
	f.takeMounted(mountPoint, o.Without)
	return s, nil
}

// Wait returns when the volume has been unmounted and all requests have been
// answered.
func (s *Server) Wait() { <-s.done }

// Unmount unmounts the volume. It fails while the mount is in use.
func (s *Server) Unmount() error {
	if err := s.fuse.Unmount(); err != nil {
		return fmt.Errorf("fs: unmount: %w", err)
	}
	<-s.done
	return nil
}

// status tells how a mounted volume works, for StatusXattr.
func (f *FS) status() ([]byte, error) {
	v := f.v
	status := map[string]any{
		"queue":    workqueue.Inline.String(),
		"driver":   v.ContentsDriver(),
		"selftest": v.opts.Drivers.SelfTests().String(),
		"readonly": v.ReadOnly(),
		"shared":   v.opts.Shared,
	}
	if v.opts.Queue != nil {
		attrs := v.opts.Queue.Attrs()
		status["queue"] = attrs.Kind.String()
		if attrs.Kind == workqueue.Unbound || attrs.Kind == workqueue.Auto {
			status["scope"], status["strict"] = attrs.Scope.String(), attrs.Strict
		}
		if attrs.MaxActive != 0 {
			status["max_active"] = attrs.MaxActive
		}
		if len(attrs.CPUs) > 0 {
			status["cpus"] = attrs.CPUs
		}
	}
	f.mu.RLock()
	if len(f.taken) > 0 {
		status["shortcuts"] = slices.Clone(f.taken)
	}
	f.mu.RUnlock()
	if v.system != nil {
		status["keys"] = v.ring.Names()
	}
	if f.control != "" {
		status["control"] = f.control
	}
	if f.partition != 0 {
		status["partition"] = f.partition
	}
	return json.Marshal(status)
}
