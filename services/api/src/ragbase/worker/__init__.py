"""Does jobs: claims them from Postgres, keeps their leases, ends them.

`worker.Worker` claims, `attempt` does one attempt at one job, `verdict` decides what its error means,
`handlers` says who does which task, `sweep` takes jobs from workers that died, `main` is the process.
"""
