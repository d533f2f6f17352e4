"""The agent tunes plans: what a decision point of the planner should do, found by the clock.

    proposals   alternatives in the order in which they are tried: what won nearby first
    tuner       walks the decision points of a graph, tries alternatives, keeps what is proved, right and faster
    value       whether an alternative computes the same, at reduced sizes
    table       rows of `argus/kernels/choices.json`, read and written

Times and proofs are given from outside (`TuningBench`); `argus.bench.tuning` has those of the clock and the checker.
"""
