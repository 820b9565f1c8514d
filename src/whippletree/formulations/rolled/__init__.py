"""Rolled forms: each kind of step traced once, a loop over nodes."""
