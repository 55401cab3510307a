"""Code that the published experiments share. `experiment` runs an experiment and writes its report.
`sources` reads the experiment's files. `entries` defines a published number, its position in the
publication, and its measured values. `goals` checks whether the errors meet the goals. `readings`
compares alternatives for details that the publication does not state. `shown` makes tables for
reports."""
