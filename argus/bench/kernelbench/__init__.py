"""KernelBench: every task's module as a plan, proved, compared with float64 and timed (`argus bench kernelbench`).

    task_files    the tasks of a folder
    reduced       smaller sizes and structured inputs
    full_size     sampled workgroups of every launch at full size; of one launch: `launch_trial`, on `stores` (who
                  writes what), `contents` and `drawn` (inputs), `exact_sums`, `sparse_launch` (memory)
    holding       which records of an earlier sitting still hold; `plan_digest`: digests of plans
    judging       one task: plan at full size, proofs, results at reduced and full sizes, simulated time (needs torch)
    timing        a plan's simulated time, launches that are known taken from disk
    worker        the process that executes the tasks' files
    campaign      all tasks: resumable, with progress
    summary       what came out, by level and family

The tasks are Python files of another project; nothing of them is kept here.
"""
