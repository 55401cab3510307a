"""Code that published experiments share.

`experiment` runs an experiment and writes its report, `sources` reads its files, and `entries` has
its numbers with their places in the source. `goals` compares the numbers with the goals, `readings`
tries details that the source leaves open, and `shown` makes the tables of a report.
"""
