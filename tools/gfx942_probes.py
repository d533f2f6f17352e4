"""What to put into the fields of an instruction to find out what they mean: marker values and modifier bits."""

from __future__ import annotations

MARK = {
    "vdst": 10,
    "vdata": 10,
    "sdst": 36,
    "sdata": 36,
    "src0": 256 + 20,
    "ssrc0": 20,
    "src1": 256 + 32,
    "vsrc1": 32,
    "ssrc1": 40,
    "src2": 256 + 44,
    "simm16": 0x123,
    "offset": 0x164,
    "soffset": 60,
    "addr": 20,
    "vaddr": 20,
    "data": 32,
    "data0": 32,
    "data1": 44,
    "saddr": 64,
    "sbase": 26,
    "srsrc": 12,
}
"""The value put into each operand field; register numbers are what the text will show."""

SHOWN = {"sbase": 52, "srsrc": 48}
"""Fields that count in groups of registers: the register number the text shows."""

FLAGS: dict[str, dict[str, tuple[int, ...]]] = {
    "VOP3": {
        "clamp": (15,),
        "omod": (59, 60),
        "abs0": (8,),
        "abs1": (9,),
        "abs2": (10,),
        "neg0": (61,),
        "neg1": (62,),
        "neg2": (63,),
        "op_sel": (11, 12, 13, 14),
    },
    "VOP3P": {
        "clamp": (15,),
        "op_sel": (11, 12, 13),
        "op_sel_hi": (59, 60, 14),
        "neg_lo": (61, 62, 63),
        "neg_hi": (8, 9, 10),
        "cbsz": (8, 9, 10),
        "abid": (11, 12, 13, 14),
        "blgp": (61, 62, 63),
        "neg": (61, 62, 63),
        "abs0": (8,),
        "abs1": (9,),
        "abs2": (10,),
        "neg0": (61,),
        "neg1": (62,),
        "neg2": (63,),
        "acc": (15, 59, 60),
    },
    "SDWA": {
        "clamp": (45,),
        "omod": (46, 47),
        "src0_sel": (48,),
        "src1_sel": (56,),
        "dst_sel": (40,),
        "dst_unused": (43,),
        "sext0": (51,),
        "neg0": (52,),
        "abs0": (53,),
        "sext1": (59,),
        "neg1": (60,),
        "abs1": (61,),
    },
    "DPP": {"neg0": (52,), "abs0": (53,), "neg1": (54,), "abs1": (55,), "bound_ctrl": (51,), "row_mask": (60,)},
    "SMEM": {"glc": (16,), "nv": (15,), "soe": (14,)},
    "DS": {"gds": (16,), "acc": (25,), "offset": (0, 15)},
    "FLAT": {"sc0": (16,), "nt": (17,), "sc1": (25,), "lds": (13,), "acc": (55,), "offset": (0,)},
    "BUF": {
        "sc0": (14,),
        "sc1": (15,),
        "nt": (17,),
        "lds": (16,),
        "offen": (12,),
        "idxen": (13,),
        "acc": (55,),
        "offset": (0,),
    },
    "MTBUF": {
        "sc0": (14,),
        "sc1": (53,),
        "nt": (54,),
        "offen": (12,),
        "idxen": (13,),
        "acc": (55,),
        "offset": (0,),
        "dfmt": (19,),
        "nfmt": (23,),
    },
}
"""Modifier bits to try, by group of families."""


def group(family: str) -> str:
    """Families that share their modifier bits."""
    if family.endswith("_SDWA"):
        return "SDWA"
    if family.endswith("_DPP"):
        return "DPP"
    if family.startswith("MUBUF"):
        return "BUF"
    if family.startswith(("FLAT", "GLOBAL", "SCRATCH")):
        return "FLAT"
    return family
