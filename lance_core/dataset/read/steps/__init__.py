"""The steps of a window: its rows, its early columns and the filter, its late columns."""
