"""What programs leave in files, read as somebody else's: numbers that a scenario asks for
(`numbers`), logs of QUIC stacks (`qlog`), and which files there are (`kept`)."""
