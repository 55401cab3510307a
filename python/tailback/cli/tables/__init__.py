"""What commands print for people, as tables as wide as the terminal."""
