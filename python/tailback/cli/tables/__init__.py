"""The tables that commands print for people, as wide as the terminal allows."""
