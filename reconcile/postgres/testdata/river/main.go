// River works no-op jobs on a PostgreSQL server, so that trueup's claims can be measured beside it. For each line on its
// standard input, "WORKERS JOBS", it inserts so many jobs, works them with so many workers, and prints how many nanoseconds
// that took from the start of its client until the last one was completed in the database.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Noop is a job that does nothing.
type Noop struct {
	Target string `json:"target"`
}

// Kind names such jobs to river.
func (Noop) Kind() string { return "noop" }

func main() {
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("making river's schema: %w", err)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var workers, jobs int
		if _, err := fmt.Sscan(in.Text(), &workers, &jobs); err != nil {
			return fmt.Errorf("reading %q: %w", in.Text(), err)
		}
		took, err := work(ctx, pool, workers, jobs)
		if err != nil {
			return err
		}
		fmt.Println(took.Nanoseconds())
	}
	return nil
}

// work inserts the jobs, unmeasured, and works them.
func work(ctx context.Context, pool *pgxpool.Pool, workers, jobs int) (time.Duration, error) {
	known := river.NewWorkers()
	river.AddWorker(known, river.WorkFunc(func(context.Context, *river.Job[Noop]) error { return nil }))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: time.Second,
		Workers:           known,
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, err
	}
	all := make([]river.InsertManyParams, jobs)
	for i := range all {
		all[i].Args = Noop{Target: fmt.Sprintf("command:target-%06d", i)}
	}
	if _, err := client.InsertManyFast(ctx, all); err != nil {
		return 0, fmt.Errorf("inserting jobs: %w", err)
	}
	completed, stop := client.Subscribe(river.EventKindJobCompleted)
	defer stop()
	begun := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, fmt.Errorf("starting river: %w", err)
	}
	for range jobs {
		<-completed
	}
	took := time.Since(begun)
	if err := client.Stop(ctx); err != nil {
		return 0, fmt.Errorf("stopping river: %w", err)
	}
	var left int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left); err != nil || left > 0 {
		return 0, fmt.Errorf("%d jobs are not completed: %w", left, err)
	}
	_, err = pool.Exec(ctx, "TRUNCATE river_job")
	return took, err
}
