"""Evaluates an algorithm by the criteria of a standard.

Each section gets a verdict, together with the number that decides the verdict.

| module | what it has |
|---|---|
| `model` | the result of a section, the whole evaluation, its JSON and exit status |
| `suites` | the registered suites and their sections |
| `text` | the table that the command prints |
| `junit` | JUnit XML |
| `cc` | congestion controls, by RFC 9743 |
| `queue` | queue disciplines, by RFC 7928 |
| `bbr` | BBR, by the appendix of its draft |
"""
