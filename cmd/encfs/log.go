package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"os"
	"runtime/debug"
)

// foregroundLog returns a log on w, in the form of messages of commands.
func foregroundLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(prefixWriter{w}, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
}

// A withoutErrors is a handler of a log from which errors are left out, as they are
// also returned and reported then.
type withoutErrors struct{ slog.Handler }

func (h withoutErrors) Enabled(ctx context.Context, level slog.Level) bool {
	return level < slog.LevelError && h.Handler.Enabled(ctx, level)
}

// withoutTime leaves out the time, which others add or nobody needs.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// A prefixWriter puts our name before each write, which is a line.
type prefixWriter struct{ w io.Writer }

func (p prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte("encfs: "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// backgroundLog returns the log of a process without a terminal: a file to append
// to, which then gets reports of crashes too, or the system log where there is
// one.
func backgroundLog(file string) (*slog.Logger, error) {
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("--log: %w", err)
		}
		// It has duplicated the descriptor, so that f may go on as it likes.
		if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
			return nil, fmt.Errorf("--log: %w", err)
		}
		return slog.New(slog.NewTextHandler(f, nil)), nil
	}
	w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "encfs")
	if err != nil {
		return slog.New(slog.DiscardHandler), nil
	}
	return slog.New(newSyslogHandler(w)), nil
}

// hasSyslog reports whether there is a system log to write to.
func hasSyslog() bool {
	w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "encfs")
	if err != nil {
		return false
	}
	w.Close()
	return true
}

// A syslogHandler gives each record to the system log with its priority: it
// holds a handler for each.
type syslogHandler struct {
	errors, warnings, rest slog.Handler
}

func newSyslogHandler(w *syslog.Writer) syslogHandler {
	text := func(write func(string) error) slog.Handler {
		return slog.NewTextHandler(syslogWriter(write), &slog.HandlerOptions{ReplaceAttr: withoutTime})
	}
	return syslogHandler{errors: text(w.Err), warnings: text(w.Warning), rest: text(w.Info)}
}

// A syslogWriter writes with one priority.
type syslogWriter func(string) error

func (write syslogWriter) Write(line []byte) (int, error) {
	if err := write(string(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func (h syslogHandler) at(level slog.Level) slog.Handler {
	switch {
	case level >= slog.LevelError:
		return h.errors
	case level >= slog.LevelWarn:
		return h.warnings
	}
	return h.rest
}

func (h syslogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.at(level).Enabled(ctx, level)
}

func (h syslogHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.at(r.Level).Handle(ctx, r)
}

func (h syslogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return syslogHandler{h.errors.WithAttrs(attrs), h.warnings.WithAttrs(attrs), h.rest.WithAttrs(attrs)}
}

func (h syslogHandler) WithGroup(name string) slog.Handler {
	return syslogHandler{h.errors.WithGroup(name), h.warnings.WithGroup(name), h.rest.WithGroup(name)}
}
