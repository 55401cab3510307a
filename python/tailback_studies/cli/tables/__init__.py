"""Tables that the commands of studies print."""
