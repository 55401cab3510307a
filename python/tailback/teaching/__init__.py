"""Contains the lessons that come with tailback (`lessons`), and grades submissions (`grading`)."""
