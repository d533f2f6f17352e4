"""A search that only needs a journal: a deterministic climb over numbers, run as a child that is killed at random.

python -m tests.agent_journal.search FOLDER STEPS
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

from argus.agent.journal import Journal

WORK = 0.004


def judge(candidate: int) -> int:
    time.sleep(WORK)
    return int.from_bytes(hashlib.sha256(str(candidate).encode()).digest()[:4], "big")


def climb(folder: Path, steps: int) -> tuple[int, int]:
    """The best candidate and how many judgements this process made."""
    made = 0
    with Journal.write(folder) as journal:
        run = journal.resume() if journal.runs() else journal.begin("numbers", {"steps": steps})
        best, value = 0, -1
        for step in range(steps):
            candidate = best * 31 + step
            source = journal.put(f"candidate {candidate}")
            run.record(step, f"candidate:{step}", "candidate", {"id": str(candidate), "source": source})
            question = hashlib.sha256(source.encode()).hexdigest()
            known = journal.judged(question)
            if not known:
                score, made = judge(candidate), made + 1
            else:
                score = known[0].payload["score"]
            payload = {"question": question, "candidate": str(candidate), "score": score}
            run.record(step, f"judgement:{step}", "judgement", payload)
            if score > value:
                best, value = candidate, score
        run.record(steps, "end", "end", {"best": best})
    return best, made


if __name__ == "__main__":
    print(*climb(Path(sys.argv[1]), int(sys.argv[2])))
