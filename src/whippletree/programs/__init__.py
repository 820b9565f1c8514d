"""The language between formulations and kernels: programs that evaluate small functions over many work items."""
