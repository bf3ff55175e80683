package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

// driverOptions says which cipher drivers may be used.
type driverOptions struct {
	Driver   string // for its algorithm whatever others there are; empty for the best
	ClearCPU string // features that the CPU is taken not to have
	SelfTest string // lazy, full or off
}

// driverFlags are the flags that fill in driverOptions.
type driverFlags struct {
	selfTest choice
	options  driverOptions
}

func (f *driverFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.options.Driver, "driver", "", "decrypt contents with the driver `NAME` rather than the best one")
	f.addTable(flags)
}

// addTable adds the flags that do not choose a single driver.
func (f *driverFlags) addTable(flags *pflag.FlagSet) {
	flags.StringVar(&f.options.ClearCPU, "clear-cpu", "", "do without the CPU features in `LIST`, such as aes,avx2")
	f.addSelfTest(flags)
}

func (f *driverFlags) addSelfTest(flags *pflag.FlagSet) {
	f.selfTest = newChoice("lazy", "full", "off")
	f.selfTest.add(flags, "selftest", "test each driver before its first use (lazy), all at start (full), or none (off)")
}

// parse returns the options after a check of those that can be checked without a
// source. Its errors are of usage.
func (f *driverFlags) parse() (driverOptions, error) {
	o := f.options
	o.SelfTest = f.selfTest.value
	if _, err := o.features(); err != nil {
		return o, err
	}
	if o.Driver != "" {
		if err := checkDriver(o.Driver); err != nil {
			return o, err
		}
	}
	return o, nil
}

// checkDriver checks that there is a driver of this name.
func checkDriver(name string) error {
	if _, err := decrypt.LookupName(name); err != nil {
		var known []string
		for _, d := range decrypt.Drivers() {
			known = append(known, d.Name)
		}
		return usagef("--driver %s: unknown driver; known are %s", name, strings.Join(known, ", "))
	}
	return nil
}

// environment returns the environment of a process with these options. Portable
// drivers have the AES of Go's library, which detects the CPU's instructions by itself
// and looks for what it should do without in GODEBUG, when the process starts. The
// options were checked.
func (o driverOptions) environment() []string {
	env := os.Environ()
	if have, _ := o.features(); clearsAES(have) {
		debug := "cpu.aes=off"
		if own := os.Getenv("GODEBUG"); own != "" {
			debug = own + "," + debug
		}
		env = append(env, "GODEBUG="+debug)
	}
	return env
}

// features returns those of this CPU that drivers may use. Its errors are of usage.
func (o driverOptions) features() (cpufeat.Set, error) {
	clear, err := cpufeat.Parse(o.ClearCPU)
	if err != nil {
		return 0, usagef("--clear-cpu: %w", err)
	}
	return cpufeat.Host().Clear(clear), nil
}

// table returns the drivers. Those that fail their self-test are reported to log.
func (o driverOptions) table(log *slog.Logger) (*decrypt.Table, error) {
	have, err := o.features()
	if err != nil {
		return nil, err
	}
	mode, err := decrypt.ParseSelfTest(o.SelfTest)
	if err != nil {
		return nil, usageError{err}
	}
	t, err := decrypt.NewTable(have, mode, log)
	if err != nil || o.Driver == "" {
		return t, err
	}
	if err := t.Choose(o.Driver); err != nil {
		return nil, explainDriver(err)
	}
	return t, nil
}

// explainDriver says in words why the CPU cannot run a driver that was asked for.
func explainDriver(err error) error {
	if u, ok := errors.AsType[*decrypt.UnusableError](err); ok {
		why := cpufeat.Detect().Explain(u.Driver.Needs, u.Have)
		return failf(exitUnsupported, "encfs drivers lists the usable ones", "driver %s cannot run on this CPU: %s", u.Driver.Name, why)
	}
	return err
}

// forPolicy returns the drivers for a source with a policy. What they do for the policy is
// tested, if it is to be, before anybody is asked for a key.
func (o driverOptions) forPolicy(p keys.Policy, log *slog.Logger) (*decrypt.Table, error) {
	if o.Driver != "" {
		d, err := decrypt.LookupName(o.Driver)
		if err != nil {
			return nil, usageError{err}
		}
		if d.Algorithm != p.Contents.Algorithm() {
			return nil, usagef("--driver %s: is for %s, and the contents are encrypted with %s", d.Name, d.Algorithm, p.Contents.Algorithm())
		}
	}
	t, err := o.table(log)
	if err != nil {
		return nil, err
	}
	if err := t.TestKDFs(); err != nil {
		return nil, err
	}
	for _, m := range []keys.Mode{p.Contents, p.Filenames} {
		if _, err := t.Lookup(m.Algorithm()); err != nil {
			return nil, err
		}
	}
	return t, nil
}
