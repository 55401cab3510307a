"""What programs leave in files, read as untrusted: numbers that a scenario asks for
(`numbers`), logs of QUIC stacks (`qlog`), and which files there are (`kept`)."""
