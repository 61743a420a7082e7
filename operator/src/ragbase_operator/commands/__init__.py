"""What the program does beside running: chores around an installation."""
