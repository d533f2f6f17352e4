"""Exact-algebra execution: an object's own instructions in prime fields, beside the real run.

    fields             three prime fields with exp2 and log2 between them
    numbers            what is known of a value: residues, fields present, doubts, the real run
    constants          floats that stand for a number the specification names
    value_table        values by number
    carried            rows of bits with an id for every byte, and how ids follow integer operations
    float_reading      bytes read as a float: which value are they a rounding of?
    carrying_builder   the machine's semantic table over both
    functions          instructions that are one function of a number
    carrying_wave, matrix, planes, memory_moves, shadow      the execution

What it preserves, what not, and the chance of a miss: docs/algebra.md.
"""

from argus.machine.algebra.constants import Constants, NamedConstant
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.algebra.shadow import AlgebraShadow

__all__ = ["AlgebraNumbers", "AlgebraShadow", "Constants", "NamedConstant"]
