package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// mountRequest is what the arguments of mount ask for.
type mountRequest struct {
	source, point string
	keys          keyFlags
	options       mountOptions
	shared        bool
	showBad       bool
	pipeline      pipelineOptions
	without       []fs.Shortcut
	log           string
	foreground    bool
}

func newMountCommand() *cobra.Command {
	var r mountRequest
	var pipeline pipelineFlags
	var optionLists []string
	var without string
	var readOnly, allowOther, fake bool
	cmd := &cobra.Command{
		Use:   "mount [flags] SOURCE MOUNTPOINT",
		Short: "Mount a cipher directory or an image",
		Long: `Mount a cipher directory, or read-only an ext4 image or device with directories
that Linux encrypted, in the background: the command returns once the mount
answers. Messages of the mount go to the system log, or to --log. For fstab(5),
make a link /sbin/mount.encfs to this program and use the type encfs.

The mount ends with "encfs umount MOUNTPOINT", or when its process gets SIGTERM
while nobody uses it. A second signal takes away a mount that is in use.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.source, r.point = args[0], args[1]
			for _, list := range optionLists {
				if err := r.options.parse(list); err != nil {
					return err
				}
			}
			r.options.readOnly = r.options.readOnly || readOnly
			r.options.allowOther = r.options.allowOther || allowOther
			if err := r.keys.addOptions(r.options); err != nil {
				return err
			}
			var err error
			if r.pipeline, err = pipeline.parse(); err != nil {
				return err
			}
			if without != "" {
				if r.without, err = fs.ParseShortcuts(without); err != nil {
					return usagef("--without %s: known are %s", without, shortcutNames())
				}
			}
			if fake {
				return nil
			}
			return mount(r, consoleOf(cmd))
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&r.foreground, "foreground", "f", false, "serve in the foreground, with messages on standard error")
	flags.BoolVar(&readOnly, "ro", false, "mount read-only")
	flags.BoolVar(&allowOther, "allow-other", false, "let other users in, as far as owners and modes let them")
	flags.BoolVar(&r.shared, "shared", false, "others change the cipher directory too: remember nothing of it")
	flags.BoolVar(&r.showBad, "show-bad", false, "show entries whose names do not decode, with \" (undecodable)\" behind")
	flags.StringVar(&r.log, "log", "", "append messages to `FILE` rather than the system log")
	flags.StringVar(&without, "without", "", "do not take these shortcuts, a `LIST` of "+shortcutNames()+", to find out whether one is to blame for something")
	flags.StringArrayVarP(&optionLists, "options", "o", nil, "options as in fstab(5), `OPT[,OPT]...`: "+mountOptionsHelp)
	flags.BoolVar(&fake, "fake", false, "check the arguments and mount nothing")
	flags.MarkHidden("fake") // for mount(8)
	pipeline.add(flags)
	r.keys.add(flags)
	return cmd
}

// shortcutNames lists what --without can name.
func shortcutNames() string {
	var names []string
	for _, s := range fs.Shortcuts {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// mount checks all that can be checked, asks for the passphrase, and serves the
// mount, in the foreground or in a process of its own.
func mount(r mountRequest, c console) error {
	if r.foreground && r.log != "" {
		return usagef("--log is for the background; in the foreground messages go to standard error")
	}
	if err := keys.DisableCoreDumps(); err != nil {
		return err
	}
	source, err := resolve(r.source)
	if err != nil {
		return failf(exitSource, "", "%w", err)
	}
	o := serveOrder{
		Source: source, ReadOnly: r.options.readOnly, AllowOther: r.options.allowOther,
		Shared: r.shared, ShowBad: r.showBad, Options: r.options.kernel, Without: r.without, Pipeline: r.pipeline,
	}
	mks, err := o.prepare(r, c)
	if err != nil {
		return err
	}
	if r.foreground {
		return serve(o, mks, foregroundLog(c.err), func() error { return nil })
	}
	defer mks.close()
	if r.log != "" {
		if o.Log, err = filepath.Abs(r.log); err != nil {
			return err
		}
	}
	server, err := startServer(o, mks)
	if err != nil {
		return err
	}
	if err := server.Release(); err != nil {
		return err
	}
	if o.Log == "" && isTerminal(c.err) && !hasSyslog() { // a script would hear it each time
		c.notef("there is no system log, so messages of the mount are lost; --log FILE keeps them")
	}
	return nil
}

// prepare fills in the rest of the order and returns the master keys. Nobody is
// asked for a passphrase before all else is known to be right.
func (o *serveOrder) prepare(r mountRequest, c console) (masterKeys, error) {
	isImage, err := checkSource(o.Source)
	if err != nil {
		return nil, err
	}
	if isImage {
		return o.prepareImage(r, c)
	}
	if err := r.keys.images.checkDirectory(); err != nil {
		return nil, err
	}
	st, err := openStore(o.Source, dirstore.Options{ReadOnly: o.ReadOnly, Shared: o.Shared})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	policy, err := rootPolicy(r.source, st)
	if err != nil {
		return nil, err
	}
	if err := o.Pipeline.checkPolicy(policy); err != nil {
		return nil, err
	}
	if o.MountPoint, err = checkMountPoint(r.point, o.Source, r.options.nonEmpty); err != nil {
		return nil, err
	}
	if err := checkFUSE(o.AllowOther); err != nil {
		return nil, err
	}
	if st.LowerReadOnly() && !o.ReadOnly {
		c.notef("%s is on a read-only file system, so the mount is read-only", r.source)
		o.ReadOnly = true
	}
	if err := lockStore(st, r.source, o.ReadOnly || o.Shared); err != nil {
		return nil, err
	}
	mk, err := r.keys.unlock(o.Source, st, c)
	if err != nil {
		return nil, err
	}
	return masterKeys{mk}, nil
}

// prepareImage is prepare for an image.
func (o *serveOrder) prepareImage(r mountRequest, c console) (masterKeys, error) {
	o.ReadOnly, o.Shared = true, false
	o.Partition, o.Force = int(r.keys.images.partition), r.keys.images.force
	if _, err := o.Pipeline.Drivers.table(nil); err != nil {
		return nil, err
	}
	v, err := openImageVolume(o.image(), new(keys.Keyring), fs.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if o.MountPoint, err = checkMountPoint(r.point, o.Source, r.options.nonEmpty); err != nil {
		return nil, err
	}
	if err := checkFUSE(o.AllowOther); err != nil {
		return nil, err
	}
	mks, err := r.keys.unlockImage(r.source, v, c)
	if err != nil || r.keys.locked {
		return mks, err
	}
	if missing := mks.missing(v); len(missing) > 0 {
		c.notef("no key for %s: what has it is shown with encrypted names, and its files cannot be opened", strings.Join(missing, ", "))
	}
	return mks, nil
}

// startServer starts a process that serves the mount, in a session of its own so
// that it outlives the terminal, and returns it once the mount answers. The master
// keys go through a pipe, as arguments and environment can be seen by others.
func startServer(o serveOrder, mks masterKeys) (*os.Process, error) {
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orderR.Close()
	defer orderW.Close()
	answerR, answerW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer answerR.Close()
	defer answerW.Close()

	server := exec.Command(ownProgram(), "serve", "--", o.Source, o.MountPoint)
	server.Args[0] = "encfs" // by whatever name we were called
	server.Dir = "/"
	server.Env = o.Pipeline.Drivers.environment()
	server.ExtraFiles = []*os.File{orderR, answerW} // orderFD, answerFD
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if o.Measure != nil { // nobody has a use for the mount then but this process
		server.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	// What we have inherited is not for the server: somebody may wait for the end of
	// a pipe. Linux before 5.11 cannot do it, and then nothing is lost but that.
	unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	orderR.Close()
	answerW.Close()
	// A server that has already ended says why in its answer.
	if err := writeOrder(orderW, o, mks); err != nil && !errors.Is(err, syscall.EPIPE) {
		server.Process.Kill()
		server.Wait()
		return nil, err
	}
	orderW.Close()
	if err := readAnswer(answerR); err != nil {
		server.Wait()
		return nil, err
	}
	return server.Process, nil
}

// ownProgram returns a path of this program to start it by: its name, which becomes the
// name of the process, unless another program has it by now.
func ownProgram() string {
	const link = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return link
	}
	named, err := os.Stat(path)
	running, linkErr := os.Stat(link)
	if err != nil || linkErr != nil || !os.SameFile(named, running) {
		return link
	}
	return path
}
