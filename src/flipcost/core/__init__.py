"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only."""
