"""Lessons that come with tailback (`lessons`), and grades of submissions to a task (`grading`)."""
