"""How sharp exact algebra is: mutants inside the tolerance, false alarms on the library and on Triton's kernels.

python -m bench.algebra mutants [--count 200]       share of wrong kernels found that pass the float comparison
python -m bench.algebra library                     every library kernel at its example sizes: none is different
python -m bench.algebra triton                      42 objects of Triton's compiler: all are equal
"""
