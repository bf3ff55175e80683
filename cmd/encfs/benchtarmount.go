package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"encfs/cmd/encfs/internal/bench"
	"encfs/fs"
)

// A tarMount is a mount that is measured, and its server.
type tarMount struct {
	point   string
	server  *os.Process
	control string // path of the server's socket
}

// mount mounts the encrypted tree of a setup.
func (w *tarWork) mount(s *tarSetup) (*tarMount, error) {
	mk, err := fs.MeasurementKey()
	if err != nil {
		return nil, err
	}
	defer mk.Close()
	o := serveOrder{
		Source: w.cipherDir(s.cipher), MountPoint: w.point, ReadOnly: true, Pipeline: s.pipeline, Log: w.log,
		Measure: &measureOrder{Algorithm: s.cipher.instead, Completion: s.completion},
	}
	m := &tarMount{point: w.point}
	err = onCPUs(s.cpus, func() error {
		m.server, err = startServer(o, masterKeys{mk})
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.control, err = controlPath(w.point); err != nil {
		m.unmount()
		return nil, err
	}
	return m, nil
}

// parts asks the server how long requests and their parts have taken so far.
func (m *tarMount) parts() (bench.ReadParts, error) {
	r, err := askStats(m.control)
	if err != nil {
		return bench.ReadParts{}, statsError(m.point, err)
	}
	return bench.ReadParts{
		Read: r.Latency["read"].Dist, LowerRead: r.Latency[latencyLowerRead].Dist,
		QueueWait: r.Latency[latencyQueueWait].Dist, Decrypt: r.Latency[latencyDecrypt].Dist,
	}, nil
}

// unmountPatience is how long a mount is tried that something still uses, such as a tar
// that has been killed, and serverPatience how long the end of a server is waited for.
const (
	unmountPatience = 2 * time.Second
	serverPatience  = 10 * time.Second
)

// unmount unmounts and returns when the server has ended, by force if it must.
func (m *tarMount) unmount() error {
	err := unmount(m.point, false)
	for end := time.Now().Add(unmountPatience); errors.Is(err, unix.EBUSY) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		err = unmount(m.point, false)
	}
	if err != nil {
		err = unmount(m.point, true)
	}
	kill := time.AfterFunc(serverPatience, func() { m.server.Kill() })
	if err != nil {
		m.server.Kill()
	} else {
		m.server.Signal(unix.SIGTERM) // see waitForEnd
	}
	state, waitErr := m.server.Wait()
	switch inTime := kill.Stop(); {
	case err != nil:
		return failf(exitFailure, "", "cannot unmount %s: %w", m.point, err)
	case !inTime:
		return fmt.Errorf("the server of a mount did not end within %v", serverPatience)
	case waitErr != nil:
		return waitErr
	case !state.Success():
		return fmt.Errorf("the server of a mount has ended: %v", state)
	}
	return nil
}
