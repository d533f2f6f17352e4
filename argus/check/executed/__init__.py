"""A proof is executed before it is believed: small launches on the interpreter, against the specification.

    executed = execute(kernel)            `executed 6 launches`, or the first launch that disagrees
    after_proof(program, report)          the report with what was executed; a disagreement takes `proved` away

Nothing here can make a verdict `proved`: it can only take one away. So the folder is not trusted.
"""
