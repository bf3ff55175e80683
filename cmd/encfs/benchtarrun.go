package main

import (
	"context"

	"encfs/cmd/encfs/internal/bench"
)

// A tarRun is the experiment under way.
type tarRun struct {
	plan     *tarPlan
	work     *tarWork
	parts    map[int][][]bench.TreeFile // of the tree, by the number of jobs
	results  map[*tarSetup]map[string]*bench.TarResult
	progress *progress
}

// runTarPlan makes the trees, runs the plan and removes the trees. It returns the results
// of the cells that have been run at all, in the order of the plan, also with an
// error.
func runTarPlan(ctx context.Context, r tarRequest, plan *tarPlan, p *progress) (results []bench.TarResult, err error) {
	work, err := newTarWork(ctx, r, plan)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := work.remove(); err == nil {
			err = failed
		}
	}()
	run := &tarRun{
		plan: plan, work: work, progress: p,
		parts: map[int][][]bench.TreeFile{}, results: map[*tarSetup]map[string]*bench.TarResult{},
	}
	for i := range plan.setups {
		s := &plan.setups[i]
		run.parts[s.jobs] = bench.Divide(work.files, s.jobs)
		run.results[s] = map[string]*bench.TarResult{}
		for _, cache := range plan.cachesOf(s) {
			run.results[s][cache] = s.result(cache, bench.TreeSize(work.files))
		}
	}
	cells := int64(plan.cells() * plan.runs)
	p.expect(cells*int64(len(work.files)), cells*bench.TreeSize(work.files))
	p.expectNoMore()
	err = run.all(ctx)
	for i := range plan.setups {
		s := &plan.setups[i]
		for _, cache := range plan.cachesOf(s) {
			if result := run.results[s][cache]; len(result.Seconds) > 0 {
				results = append(results, *result)
			}
		}
	}
	return results, err
}

// result returns the result of a cell before its first run.
func (s *tarSetup) result(cache string, bytes int64) *bench.TarResult {
	r := &bench.TarResult{
		Queue: s.pipeline.Queue, Scope: s.scope, Cipher: s.cipher.name, Driver: s.driver, Cleared: s.cleared,
		Jobs: s.jobs, CPUs: s.cpus, CompletionCPUs: s.completion, Cache: cache, Bytes: bytes,
	}
	if !s.mounted() {
		r.Queue, r.Cipher = bench.NoMount, bench.NoMount
	}
	return r
}

// all runs the plan.
func (t *tarRun) all(ctx context.Context) error {
	for n := range t.plan.runs {
		for _, s := range t.plan.order(n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := t.setup(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// setup runs the cells of a setup once.
func (t *tarRun) setup(ctx context.Context, s *tarSetup) (err error) {
	if !s.mounted() {
		return t.tars(ctx, s, cacheWarm, t.work.tree, nil)
	}
	m, err := t.work.mount(s)
	if err != nil {
		return err
	}
	defer func() {
		if failed := m.unmount(); err == nil {
			err = failed
		}
	}()
	for _, cache := range []string{cacheCold, cacheWarm} {
		switch {
		case t.results[s][cache] != nil:
			err = t.tars(ctx, s, cache, m.point, m)
		case cache == cacheCold: // which warms it
			_, err = timeTars(ctx, s.cpus, m.point, t.parts[s.jobs])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tars runs a cell once, of a mount or, without one, of the lower tree.
func (t *tarRun) tars(ctx context.Context, s *tarSetup, cache, dir string, m *tarMount) error {
	var before, after bench.ReadParts
	var err error
	if m != nil {
		if before, err = m.parts(); err != nil {
			return err
		}
	}
	took, err := timeTars(ctx, s.cpus, dir, t.parts[s.jobs])
	if err != nil {
		return err
	}
	if m != nil {
		if after, err = m.parts(); err != nil {
			return err
		}
	}
	r := t.results[s][cache]
	r.Add(took.Seconds(), after.Minus(before))
	t.progress.done(int64(len(t.work.files)), r.Bytes)
	return nil
}
