package bench

import (
	"math"
	"sync"
	"time"
)

// A Baseline is a cell that was measured and that service times are fitted to: one that
// decrypts nothing.
type Baseline struct {
	Cell    TarCell
	Seconds float64
}

// A knob is some service times that keep their ratios, as a measurement of whole cells
// does not tell them apart, or a part of such times.
type knob struct {
	times []*time.Duration
	part  *float64
}

// position is the logarithm of what the knob is at, but for a constant.
func (k knob) position() float64 {
	if k.part != nil {
		return math.Log(*k.part)
	}
	return math.Log(float64(*k.times[0]))
}

func (k knob) turn(factor float64) {
	for _, d := range k.times {
		*d = time.Duration(float64(*d) * factor)
	}
	if k.part != nil {
		*k.part *= factor
	}
}

// knobs returns all that is fitted.
func (t *ServiceTimes) knobs() []knob {
	times := func(d ...*time.Duration) knob { return knob{times: d} }
	return []knob{
		times(&t.TarFile, &t.TarUnit),
		times(&t.Send, &t.Resume, &t.Receive, &t.Answer, &t.Rest, &t.Lookup, &t.Open),
		times(&t.AnswerUnit, &t.LowerUnit),
		times(&t.Machine.Wake),
		times(&t.Machine.Waker),
		times(&t.Machine.Switch),
		times(&t.Machine.SwitchGoroutine),
		times(&t.Machine.SwitchPinned),
		{part: &t.Machine.Contention},
	}
}

// fitSteps are the factors by which knobs are turned, each until that no longer helps or
// fitRounds are done.
var fitSteps = []float64{2, 1.4, 1.15, 1.05}

const fitRounds = 3

// What is taken to be known before anything is measured, as standard deviations of
// logarithms: of the median of a baseline, and of where a knob is, around where it
// starts. Few baselines do not tell where all knobs are, and without that those that
// hardly matter to them would be turned far by chance.
const (
	baselineDeviation = 0.05
	knobDeviation     = math.Ln2
)

// FitServiceTimes returns the most likely service times for which the baselines were
// measured, if they are likely to be about where they start, which is 0 for none of them:
// it turns one knob after the other, as long as that helps. It depends on nothing but its arguments.
func FitServiceTimes(start ServiceTimes, baselines []Baseline) ServiceTimes {
	if len(baselines) == 0 {
		return start
	}
	best, least := start, start.misfit(start, baselines)
	for _, step := range fitSteps {
		for range fitRounds {
			before := least
			for k := range best.knobs() {
				for _, factor := range []float64{step, 1 / step} {
					turned := best
					turned.knobs()[k].turn(factor)
					if m := turned.misfit(start, baselines); m < least {
						best, least = turned, m
						break
					}
				}
			}
			if least == before {
				break
			}
		}
	}
	return best
}

// misfit tells how unlikely times are: how far the model is from the baselines with them,
// and they from where they started.
func (t ServiceTimes) misfit(start ServiceTimes, baselines []Baseline) float64 {
	errors := make([]float64, len(baselines))
	var wg sync.WaitGroup
	for i, b := range baselines {
		wg.Go(func() {
			took, _ := t.Simulate(b.Cell, 0)
			errors[i] = math.Log(took.Seconds()/b.Seconds) / baselineDeviation
		})
	}
	wg.Wait()
	from := start.knobs()
	for i, k := range t.knobs() {
		errors = append(errors, (k.position()-from[i].position())/knobDeviation)
	}
	sum := 0.0
	for _, e := range errors {
		sum += e * e
	}
	return sum
}
