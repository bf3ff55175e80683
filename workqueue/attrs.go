package workqueue

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind says which workers run the items of a queue.
type Kind uint8

// The kinds. The zero value is Bound, as in alloc_workqueue without WQ_UNBOUND.
const (
	Bound   Kind = iota // on the CPU that queued the item, by a worker pinned there
	Unbound             // on any worker of the affinity scope of that CPU
	Inline              // in the goroutine that queues the item, before Queue returns
	Auto                // as Unbound; but a Loop runs in its caller, and on workers if that is faster
)

var kindNames = []string{Bound: "bound", Unbound: "unbound", Inline: "inline", Auto: "auto"}

// String returns the name that ParseKind takes.
func (k Kind) String() string { return nameOf(kindNames, k) }

// ParseKind returns the kind of a name: bound, unbound, inline or auto. The
// error is a *NameError, which lists them.
func ParseKind(name string) (Kind, error) { return parseName[Kind]("kind of queue", name, kindNames) }

// A Scope is the group of CPUs that a pool of an unbound queue serves, one of
// the kernel's workqueue affinity scopes.
type Scope uint8

// The scopes. The zero value is ScopeCache, the kernel's default since 6.5.
const (
	ScopeCache  Scope = iota // CPUs that share the last level cache
	ScopeCPU                 // each CPU by itself
	ScopeSMT                 // hardware threads of one core
	ScopeNUMA                // CPUs of one memory node
	ScopeSystem              // all CPUs
)

var scopeNames = []string{ScopeCache: "cache", ScopeCPU: "cpu", ScopeSMT: "smt", ScopeNUMA: "numa", ScopeSystem: "system"}

// String returns the name that ParseScope takes.
func (s Scope) String() string { return nameOf(scopeNames, s) }

// ParseScope returns the scope of a name: cpu, smt, cache, numa or system. The
// error is a *NameError, which lists them.
func ParseScope(name string) (Scope, error) {
	return parseName[Scope]("affinity scope", name, scopeNames)
}

// Attrs says how a queue behaves. The zero value is a bound queue on all CPUs.
type Attrs struct {
	// Name is for messages; it need not be unique and may be empty.
	Name string

	Kind Kind

	// MaxActive is how many items of the whole queue may run at a time, over
	// all its CPUs. 0 is the number of CPUs of the queue, and as there is no
	// more than a worker for each CPU, more than that has the same effect. An
	// inline queue has no limit but the number of its callers.
	MaxActive int

	// CPUs are the numbers of the CPUs that workers may run on, in any order.
	// None means all CPUs in the affinity mask of the process at the time of
	// New. An item that is queued on another CPU goes to a near one of these.
	//
	// If CPUs leave the mask later, the kernel moves the workers that run there to
	// those that are left, and workers that start later are not pinned to others.
	// Items of a bound queue run on, then, but not on the CPU that queued them.
	CPUs []int

	// Scope is the affinity scope of an unbound or auto queue. With Strict, workers are
	// pinned to the CPUs of their scope and take no items of another; without,
	// the scheduler may move them over the queue's CPUs, and they steal when
	// they would be idle. Other kinds ignore both.
	Scope  Scope
	Strict bool

	// Nice is the nice value of the worker threads, -20 to 19; 0 leaves it as
	// it is. If the system refuses it, they run without and Stats tells.
	Nice int
}

// Range of nice values, setpriority(2).
const (
	minNice = -20
	maxNice = 19
)

// check returns the error of values that are wrong on every machine.
func (a Attrs) check() error {
	switch {
	case int(a.Kind) >= len(kindNames):
		return &NameError{What: "kind of queue", Name: a.Kind.String(), Known: kindNames}
	case int(a.Scope) >= len(scopeNames):
		return &NameError{What: "affinity scope", Name: a.Scope.String(), Known: scopeNames}
	case a.MaxActive < 0:
		return &RangeError{What: "max_active", Value: a.MaxActive, Min: 0, Max: -1}
	case a.Nice < minNice || a.Nice > maxNice:
		return &RangeError{What: "nice value", Value: a.Nice, Min: minNice, Max: maxNice}
	}
	return nil
}

// A NameError means that a name is none of the known ones.
type NameError struct {
	What  string   // what the name should be one of
	Name  string   // as given
	Known []string // all that are known; not to be changed
}

func (e *NameError) Error() string {
	return fmt.Sprintf("unknown %s %q: known are %s", e.What, e.Name, strings.Join(e.Known, ", "))
}

// A RangeError means that a number is smaller than Min or larger than Max. A
// Max below Min stands for no upper limit.
type RangeError struct {
	What            string
	Value, Min, Max int
}

func (e *RangeError) Error() string {
	if e.Max < e.Min {
		return fmt.Sprintf("%s %d is less than %d", e.What, e.Value, e.Min)
	}
	return fmt.Sprintf("%s %d is not within %d to %d", e.What, e.Value, e.Min, e.Max)
}

func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprint(uint8(v))
}

func parseName[T ~uint8](what, name string, names []string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, &NameError{What: what, Name: name, Known: names}
	}
	return T(i), nil
}
