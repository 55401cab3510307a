"""Lessons that come with tailback (`lessons`), and the grading of submissions (`grading`)."""
