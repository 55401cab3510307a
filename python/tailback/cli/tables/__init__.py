"""The tables that commands print for people. They are as wide as the terminal allows."""
