package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/decrypt"
	"encfs/fs"
	"encfs/keys"
	"encfs/workqueue"
)

// Descriptors that the serving process inherits.
const (
	orderFD  = 3 // to read its order from
	answerFD = 4 // to write its answer to
)

// newServeCommand returns the command that mount starts in the background. Its
// arguments are there for ps(1) only.
func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve SOURCE MOUNTPOINT",
		Short:  "Serve a mount; started by mount",
		Hidden: true,
		Args:   argsOfUse,
		RunE: func(*cobra.Command, []string) error {
			unix.CloseOnExec(orderFD)
			unix.CloseOnExec(answerFD)
			return serveInBackground(os.NewFile(orderFD, "order"), os.NewFile(answerFD, "answer"))
		},
	}
}

// serveInBackground serves the mount that is ordered. Errors until the mount is
// there go to answers, later ones to the log.
func serveInBackground(orders, answers *os.File) error {
	log := slog.New(slog.DiscardHandler)
	answered := false
	answer := func(err error) error {
		answered = true
		defer answers.Close()
		return writeAnswer(answers, err)
	}
	err := func() error {
		if err := keys.DisableCoreDumps(); err != nil {
			return err
		}
		order, mks, err := readOrder(orders)
		orders.Close()
		if err != nil {
			return err
		}
		if log, err = backgroundLog(order.Log); err != nil {
			mks.close()
			return err
		}
		said, err := captureErrors()
		if err != nil {
			mks.close()
			return err
		}
		err = serve(order, mks, log, func() error {
			said()
			return answer(nil)
		})
		if err != nil && !answered {
			if text := said(); text != "" {
				err = failf(exitMountPoint, "", "cannot mount: %s", text)
			}
		}
		return err
	}()
	switch {
	case err != nil && !answered:
		answer(err)
	case err != nil:
		log.Error("the mount has ended", "error", err)
	}
	return err
}

// serve mounts and serves until the end of the mount. It takes over the keys. It
// calls ready once the mount answers; if that fails it ends the mount.
func serve(o serveOrder, mks masterKeys, log *slog.Logger, ready func() error) (err error) {
	unix.Umask(0) // modes are those that the callers' processes ask for
	spareProcs()
	queue, err := o.Pipeline.newQueue()
	if err != nil {
		mks.close()
		return err
	}
	defer queue.Close()
	drivers, err := o.Pipeline.Drivers.table(log)
	if err != nil {
		mks.close()
		return err
	}
	measure, err := o.Measure.measurement(drivers)
	if err != nil {
		mks.close()
		return err
	}
	if measure != nil && measure.Completion != nil {
		defer measure.Completion.Close()
	}
	v, err := o.open(mks, fs.Options{
		Queue: queue, Drivers: drivers, Measure: measure,
		ReadOnly: o.ReadOnly, Shared: o.Shared, ShowBad: o.ShowBad, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()

	// From here on, as a process that dies leaves a mount without a server.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	// nohup(1) asks for SIGHUP to be ignored. For SIGINT a shell does so by itself,
	// with a command in the background of a script; the mount ends with the script.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	if o.Measure == nil { // of which one signal may come late
		defer signal.Stop(signals)
	}
	mountOptions := fs.MountOptions{
		AllowOther: o.AllowOther, Source: o.Source, Options: o.Options, Partition: o.Partition, Without: o.Without,
	}
	control, err := listenControl(o.MountPoint)
	if err != nil {
		log.Warn("no socket for encfs stats", "error", err)
	} else {
		defer control.close()
		mountOptions.Control = control.path
	}
	server, err := fs.Mount(v, o.MountPoint, mountOptions)
	if err != nil {
		return &failure{code: exitMountPoint, err: err}
	}
	if control != nil {
		control.serve(func() []byte { return statsJSON(v, o.Measure != nil, log) })
	}
	if err := ready(); err != nil {
		server.Unmount()
		server.Wait()
		return err
	}
	log.Info("mounted", "source", o.Source, "mountpoint", o.MountPoint)
	waitForEnd(server, o.MountPoint, signals, o.Measure != nil, log)
	log.Info("unmounted", "source", o.Source, "mountpoint", o.MountPoint)
	return nil
}

// measurement returns what is to be measured, nil of no order. The caller closes its
// queue.
func (o *measureOrder) measurement(drivers *decrypt.Table) (*fs.Measurement, error) {
	if o == nil {
		return nil, nil
	}
	m := new(fs.Measurement)
	switch null := decrypt.NullDriver(); o.Algorithm {
	case "":
	case null.Algorithm:
		m.Contents = &null
	default:
		d, err := drivers.Lookup(o.Algorithm)
		if err != nil {
			return nil, err
		}
		m.Contents = &d
	}
	var err error
	if len(o.Completion) > 0 {
		// Ahead of all else, as an interrupt would be, where the system allows it.
		m.Completion, err = workqueue.New(workqueue.Attrs{Name: queueName, Kind: workqueue.Bound, CPUs: o.Completion, Nice: -20})
	}
	return m, err
}

// open opens the source that is to be mounted. It takes over the keys.
func (o *serveOrder) open(mks masterKeys, opts fs.Options) (*fs.Volume, error) {
	isImage, err := checkSource(o.Source)
	if err == nil && !isImage && len(mks) != 1 {
		err = fmt.Errorf("%d master keys of a cipher directory", len(mks))
	}
	switch {
	case err != nil:
		mks.close()
		return nil, err
	case isImage:
		return openImageVolume(o.image(), mks.ring(), opts)
	}
	return openVolume(o.Source, mks[0], mustLock, opts)
}

// statsJSON returns the counters of a volume as the control socket tells them.
func statsJSON(v *fs.Volume, distributions bool, log *slog.Logger) []byte {
	report, err := json.Marshal(newStatsReport(v.Stats(), distributions))
	if err != nil {
		log.Error("counters", "error", err)
	}
	return report
}

// measuredPatience is how long a mount that is measured is served after a signal.
const measuredPatience = time.Second

// waitForEnd returns when the mount has ended, by umount or by a signal. The first
// signal unmounts if nobody uses the mount; the next one takes it away and serves on
// until its last user is gone.
//
// The first signal takes away a mount that is measured, and soon it is served no more.
// Mount namespaces that were made while it was there, as containers and services have
// them, may keep it beyond any umount, with nobody in them who knows of it.
func waitForEnd(server *fs.Server, point string, signals <-chan os.Signal, measured bool, log *slog.Logger) {
	ended := make(chan struct{})
	go func() {
		server.Wait()
		close(ended)
	}()
	for again := measured; ; again = true {
		select {
		case <-ended:
			return
		case s := <-signals:
			err := unmount(point, again)
			switch {
			case measured: // by now it may have been unmounted, without an end
				select {
				case <-ended:
				case <-time.After(measuredPatience):
				}
				return
			case err == nil:
			case again:
				log.Error("cannot unmount", "signal", s, "error", err)
			default:
				log.Warn("cannot unmount, serving on; a second signal detaches the mount", "signal", s, "error", err)
			}
		}
	}
}
