"""The tables that commands print for people. The tables use the terminal's width."""
