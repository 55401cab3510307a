"""Code that published experiments share.

`experiment` runs an experiment and writes its report. `sources` reads its files. `entries` has its
numbers with their places in the publication. `goals` compares the numbers with the goals.
`readings` tries details that the publication leaves open. `shown` makes the tables of a report.
"""
