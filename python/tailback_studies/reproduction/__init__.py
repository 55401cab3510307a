"""The parts that published experiments share.

`experiment` runs an experiment and writes its report, `sources` reads its files, and `entries` are
its numbers in their place. `goals` compare them with the goals, `readings` try what the source
leaves open, and `shown` makes the tables of a report.
"""
