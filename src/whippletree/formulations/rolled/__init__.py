"""Rolled forms: programs that loop over the nodes, closures and elements of large models.

One engine (`work_items`, `memory_layout`) makes loop programs from items that leave records for each other. On it stand
the walk over trees (`rolled_walk`), on which the recursions run as they are written, and coordinate reduction of
mechanisms with loops (`rolled_state`, `rolled_reduction`).
"""
