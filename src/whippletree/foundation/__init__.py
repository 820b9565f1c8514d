"""The lowest room: objects made once across threads, the border to the user's program, files, tables for notebooks."""
