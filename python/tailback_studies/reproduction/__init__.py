"""Code that published experiments share.

`experiment` runs an experiment and writes its report. `sources` reads its files. `entries` defines
a published number, its position in the publication, and its measured values. `goals` compares the
numbers with the goals. `readings` compares alternatives for details that the publication does not
state. `shown` makes tables for reports."""
