"""The command line as data: every verb with its options, and the name of the function that runs it.

    parser.set_defaults(handler="argus.cli.check:handle")

Nothing here imports what a verb needs to do its work, so `argus --help`, `argus check --help` and the answer to a
misspelt option come at once; `tests/cli/test_first_hour.py` holds which modules they load. A verb is added by a
`register` in one of these files and a module of its own in `argus/cli`. Words that belong to another room (protocols,
devices) stand in `choices.py`, and a test compares them with that room.
"""
