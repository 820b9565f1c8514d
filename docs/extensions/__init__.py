"""The parts of the site that Sphinx does not bring: formulas, links, the gallery's pictures, the reference."""
