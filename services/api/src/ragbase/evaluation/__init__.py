"""Proof that retrieval is good: judged datasets, measures, and runs against a live API.

`dataset` reads a judged set, `builtin` is the one that ships, `measures` scores rankings,
`quality` asks the API and scores the answers, `ablation` takes headings away, `load` times
many callers, `latency` and `report` put figures into words. Everything goes through HTTP.
"""
