"""`lessons` contains the lessons that come with tailback. `grading` grades submissions."""
