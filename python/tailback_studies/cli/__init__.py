"""What studies add to the command line."""
