"""The tables that commands print for people; they use the width of the terminal."""
