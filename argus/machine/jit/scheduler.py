"""Running workgroups, as runtime functions: no Python between the waves.

    run_workgroups(context, launch, waves, status, ids, count)  -> 0, or why one stopped (`Exit`)
    advance_workgroup(context, launch, waves, status)           -> 0 when every wave has ended

A workgroup starts with its waves' scalars and v0 copied from the launch block, other vector registers and the LDS zero.
Waves run one after another, each until it ends, reaches a barrier, or uses up its time slice (wave-instructions). The
barrier opens when as many waves wait as live: it counts arrivals, not program points, and ended waves drop out. If some
wave only ran out of time, `SLICE` goes up to the caller, who may run other workgroups before advancing this one again:
that is what lets one workgroup wait for another. Steps are summed here and compared with the limit, so a kernel that
never ends is a fault like any other.
"""

from __future__ import annotations

from argus.machine.jit.frame import (
    ROW,
    SCALAR_BYTES,
    SCALARS,
    STATUS_LIVE,
    STATUS_WAITING,
    STATUS_WAVES,
    TEMPLATE_BYTES,
    WAVE_BYTES,
    ArenaFields,
    ContextFields,
    Exit,
    Fault,
    LaunchFields,
    WaveStatus,
)
from argus.machine.jit.irtext import Definers, JitFunction, JitModule

POINTERS = [("ptr", name) for name in ("context", "launch", "waves", "status")]


def scheduler_functions() -> Definers:
    return {
        "start_workgroup": _define_start,
        "advance_workgroup": _define_advance,
        "run_workgroups": _define_run,
    }


def _context(f: JitFunction, field: ContextFields) -> str:
    return f.at("%context", int(field))


def _field(f: JitFunction, field: LaunchFields) -> str:
    return f.load("i64", f.at("%launch", int(field)), 8)


def _status(f: JitFunction, word: int) -> str:
    return f.at("%status", 4 * word)


def _copy(f: JitFunction, target: str, source: str, size: int) -> None:
    f.call("void", "llvm.memcpy.p0.p0.i64", ("ptr", target), ("ptr", source), ("i64", str(size)), ("i1", "false"))


def _clear(f: JitFunction, target: str, size: str) -> None:
    f.call("void", "llvm.memset.p0.i64", ("ptr", target), ("i8", "0"), ("i64", size), ("i1", "false"))


def _private(f: JitFunction, count: str, wave: str) -> str:
    """The private memory of a wave: behind the registers of all waves."""
    before = f.add(
        "i64", f.mul("i64", count, str(WAVE_BYTES)), f.mul("i64", wave, _field(f, LaunchFields.PRIVATE_BYTES))
    )
    return f.at("%waves", before)


def _define_start(module: JitModule) -> None:
    parameters = [("ptr", "context"), ("ptr", "launch"), ("ptr", "waves"), ("ptr", "status"), ("i64", "id")]
    f = module.function("start_workgroup", "void", parameters)
    count = _field(f, LaunchFields.WAVES)
    width, height = _field(f, LaunchFields.GRID_X), _field(f, LaunchFields.GRID_Y)
    x = f.binary("urem", "i64", "%id", width)
    rest = f.binary("udiv", "i64", "%id", width)
    coordinates = (x, f.binary("urem", "i64", rest, height), f.binary("udiv", "i64", rest, height))
    _clear(f, f.load("ptr", _context(f, ContextFields.LDS), 8), f.load("i64", _context(f, ContextFields.LDS_SIZE), 8))
    vector_bytes = _field(f, LaunchFields.VECTOR_BYTES)
    with f.loop(count) as w:
        wave = f.at("%waves", f.mul("i64", w, str(WAVE_BYTES)))
        template = f.at(f.at("%launch", int(LaunchFields.TEMPLATES)), f.mul("i64", w, str(TEMPLATE_BYTES)))
        scalars = f.at(wave, SCALARS)
        _clear(f, wave, vector_bytes)
        _clear(f, _private(f, count, w), _field(f, LaunchFields.PRIVATE_BYTES))
        _copy(f, scalars, template, SCALAR_BYTES)
        _copy(f, wave, f.at(template, SCALAR_BYTES), ROW)
        for field, value in zip(
            (LaunchFields.WORKGROUP_X, LaunchFields.WORKGROUP_Y, LaunchFields.WORKGROUP_Z), coordinates, strict=True
        ):
            place = _field(f, field)
            with f.when(f.compare("sge", "i64", place, "0")):
                f.store("i32", f.cast("trunc", "i64", value, "i32"), f.at(scalars, place), 4)
        f.store("i32", str(int(WaveStatus.READY)), f.index("i32", _status(f, STATUS_WAVES), w), 4)
    f.store("i32", f.cast("trunc", "i64", count, "i32"), _status(f, STATUS_LIVE), 4)
    f.store("i32", "0", _status(f, STATUS_WAITING), 4)
    f.ret()


def _define_advance(module: JitModule) -> None:
    f = module.function("advance_workgroup", "i32", POINTERS)
    count, quantum = _field(f, LaunchFields.WAVES), _field(f, LaunchFields.QUANTUM)
    sliced = f.stack("i1", 1)
    f.jump("round")
    f.label("round")
    f.store("i1", "false", sliced)
    with f.loop(count) as w:
        status = f.index("i32", _status(f, STATUS_WAVES), w)
        ready = f.compare("eq", "i32", f.load("i32", status, 4), str(int(WaveStatus.READY)))
        with f.when(ready):
            wave = f.at("%waves", f.mul("i64", w, str(WAVE_BYTES)))
            f.store("i64", w, _context(f, ContextFields.FAULT_WAVE), 8)
            f.store("ptr", _private(f, count, w), f.at("%context", ContextFields.PRIVATE + ArenaFields.HOST), 8)
            reason = _run_wave(f, wave, quantum)
            for exit_, become, counter, by in (
                (Exit.END, WaveStatus.DONE, STATUS_LIVE, -1),
                (Exit.BARRIER, WaveStatus.WAITING, STATUS_WAITING, 1),
            ):
                with f.when(f.compare("eq", "i32", reason, str(int(exit_)))):
                    f.store("i32", str(int(become)), status, 4)
                    f.store("i32", f.add("i32", f.load("i32", _status(f, counter), 4), str(by)), _status(f, counter), 4)
            with f.when(f.compare("eq", "i32", reason, str(int(Exit.SLICE)))):
                f.store("i1", "true", sliced)
            leave, stay = f.fresh_label("leave"), f.fresh_label("stay")
            f.branch(f.compare("ugt", "i32", reason, str(int(Exit.SLICE))), leave, stay)
            f.label(leave)
            f.ret("i32", reason)
            f.label(stay)
    live, waiting = f.load("i32", _status(f, STATUS_LIVE), 4), f.load("i32", _status(f, STATUS_WAITING), 4)
    f.branch(f.compare("eq", "i32", live, "0"), "finished", "more")
    f.label("finished")
    f.ret("i32", str(int(Exit.END)))
    f.label("more")
    f.branch(f.compare("eq", "i32", live, waiting), "open", "shut")
    f.label("open")
    with f.loop(count) as w:
        status = f.index("i32", _status(f, STATUS_WAVES), w)
        with f.when(f.compare("eq", "i32", f.load("i32", status, 4), str(int(WaveStatus.WAITING)))):
            f.store("i32", str(int(WaveStatus.READY)), status, 4)
    f.store("i32", "0", _status(f, STATUS_WAITING), 4)
    f.jump("round")
    f.label("shut")
    f.branch(f.load("i1", sliced), "yield", "round")
    f.label("yield")
    f.ret("i32", str(int(Exit.SLICE)))


def _run_wave(f: JitFunction, wave: str, quantum: str) -> str:
    """Give one wave a time slice; account its steps; turn faults, the step limit and a stop request into exits."""
    f.store("i64", quantum, _context(f, ContextFields.SLICE), 8)
    reason = f.call("i32", "kernel", ("ptr", wave), ("ptr", f.at(wave, SCALARS)), ("ptr", "%context"))
    fault = f.load("i64", _context(f, ContextFields.FAULT), 8)
    faulty = f.compare("ne", "i64", fault, "0")
    left = f.load("i64", _context(f, ContextFields.SLICE), 8)
    used = f.select(faulty, "i64", "0", f.binary("sub", "i64", quantum, left))
    steps = f.add("i64", f.load("i64", _context(f, ContextFields.STEPS), 8), used)
    f.store("i64", steps, _context(f, ContextFields.STEPS), 8)
    beyond = f.compare("ugt", "i64", steps, f.load("i64", _context(f, ContextFields.STEP_LIMIT), 8))
    with f.when(f.binary("and", "i1", beyond, f.compare("eq", "i64", fault, "0"))):
        f.store("i64", str(int(Fault.STEP_LIMIT)), _context(f, ContextFields.FAULT), 8)
    stopped = f.compare("ne", "i64", f.load("i64", _context(f, ContextFields.STOP), 8), "0")
    reason = f.select(stopped, "i32", str(int(Exit.STOPPED)), reason)
    return f.select(f.binary("or", "i1", faulty, beyond), "i32", str(int(Exit.FAULT)), reason)


def _define_run(module: JitModule) -> None:
    f = module.function("run_workgroups", "i32", [*POINTERS, ("ptr", "ids"), ("i64", "count")])
    with f.loop("%count") as n:
        f.store("i64", n, _context(f, ContextFields.FINISHED), 8)
        id_ = f.load("i64", f.index("i64", "%ids", n), 8)
        f.call(
            "void",
            "start_workgroup",
            *[("ptr", f"%{p}") for p in ("context", "launch", "waves", "status")],
            ("i64", id_),
        )
        reason = f.call("i32", "advance_workgroup", *[("ptr", f"%{name}") for _, name in POINTERS])
        leave, stay = f.fresh_label("leave"), f.fresh_label("stay")
        f.branch(f.compare("ne", "i32", reason, "0"), leave, stay)
        f.label(leave)
        f.ret("i32", reason)
        f.label(stay)
    f.store("i64", "%count", _context(f, ContextFields.FINISHED), 8)
    f.ret("i32", "0")
