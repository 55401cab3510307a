"""What published experiments share; an experiment fills it in.

`experiment` runs it and writes its report, `sources` reads its files, `entries` are its numbers in
their place, `goals` hold them against what was hoped for, `readings` try what the source leaves
open, `shown` makes the tables of a report.
"""
