"""The paper's statements, printed and corrected; `flipcost.theory` has their public names."""
