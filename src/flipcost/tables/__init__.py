"""Tables: where rows are, what their columns hold, and how they become numbers."""
