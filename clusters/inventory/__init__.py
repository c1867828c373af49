"""Import and export of inventories: what exists, where it is, and in what condition its source says it is."""
