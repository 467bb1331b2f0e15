"""Constants that shape a statistical result, in one place.

Each has its reason and what it was chosen on. ``python -m benchmarks.sensitivity`` prints what
half and twice each value does. They are read as ``priors.NAME`` when they are needed, never copied.
"""

from __future__ import annotations

import numpy as np

# How labels go wrong
# -------------------
# Symmetric noise is the simplest story and the hardest to see in the share of positives: it gets
# most. Chosen on splits 0 to 3 of eight ordinary and ten tables with real noise: with 0.5, and 0.4
# for the last three together, no figure of the three kinds of labels was lower.
NOISE_MODELS: dict[str, float] = {
    "none": 0.1,
    "symmetric": 0.7,
    "missed_positives": 0.2 / 3,
    "wrong_negatives": 0.2 / 3,
    "class_conditional": 0.2 / 3,
}
# The same for intervals: with the weights above, errors at a rate of each class are taken for
# symmetric ones, and at an AUC of 0.65 and 0.8 the share of wrong labels was covered in 0.77 of
# 24 draws of 5,000 and 50,000 rows; with these in 0.97, and wider by a tenth.
INTERVAL_MODELS = {
    "none": 0.1,
    "symmetric": 0.3,
    "missed_positives": 0.15,
    "wrong_negatives": 0.15,
    "class_conditional": 0.3,
}
# With this many rows of the rarer label, noise of any kind weighs half of what it weighs with many.
# Chosen on ten draws of 200 rows with some ten positives, seen on twenty others: with a signal
# regret was 0.47 of the better constant's with this and 0.79 without.
FEW_ROWS_NOISE = 20.0
# Each rate of one class is Beta(1, b) a priori, cut at its bound: small bounds stay nearly flat,
# only a rate of most of a class is costly (1/32 beyond one half at b = 5), since a curve that
# flattens looks the same. Chosen on eight ordinary tables and ten with real noise. A rate that both
# classes share is uniform up to its bound: with b = 5 there, symmetric flips of the paper's tables
# had a tax 0.04 higher (four splits), and flips of ordinary ones cost 0.01 of the constant more.
RATE_BETA = 5.0
# The flat curve's prior weight: insurance, since a signal worth having outweighs it by many nats.
# At 0.2, of 2,000 rows without signal some cost 1.39 times the better constant.
NO_SIGNAL = 0.8
# A prevalence given as one number is meant within this factor of its odds.
PREVALENCE_FACTOR = 1.2

# How the curve of a score may look
# ---------------------------------
# Bends g of log-odds along the normal scores z of ranks, z - g log cosh z, all alike a priori: a
# slope of 1 - g tanh z. One fixed curve took rare, weak outcomes for missed positives; a wider
# family takes flips for curves. Up to 0.9, 15 % flips of ordinary tables cost 0.035 more of the
# constant and labels as recorded 0.006 less, up to 0.4 they cost 0.017 less and 0.005 more (three
# splits).
CURVE_SHAPES = (-0.6, -0.3, 0.0, 0.3, 0.6)

# How far the labels' curve is trusted
# ------------------------------------
# Labels count as if the rarer one had at most this many rows, with these weights. On ten tables
# with real noise (five splits) the noise tax was 0.147 with 30 checked rows and 0.037 with 100;
# with 10 rows in place of the last 30 it was 0.180 and 0.054, with labels at full power 0.190 and
# 0.053. On injected noise it is the same either way.
TEMPERED_ROWS = ((np.inf, 0.6), (100.0, 0.2), (30.0, 0.2))
# Of the intervals without checked rows: the posterior tempered to these rows of the rarer label,
# and "anything goes". With these the rates of 10 of 10 tables with real noise were covered; with
# the posterior alone those of 6 and 1.
DOUBT_ROWS, DOUBT, ANYTHING = 30.0, 0.35, 0.3
# The same where the prevalence is known, which leaves little of "anything". With this the rates of
# ten tables were covered in 0.96 of five splits, with the share above in 0.86.
ANYTHING_PREVALENCE = 0.7
# The part of that where errors are random at any rates that leave this prevalence. Where all are
# spread over the rows of a label, costs are too high: on five laws (eight draws of 2,000 rows) the
# cost was covered in 0.82; with this in all 40 (with 0.5 too, and wider by a tenth).
ANYTHING_RANDOM = 0.2

# How far checked rows teach other rows
# -------------------------------------
# Standard deviations of the doubt of a cell, in log-odds: all cells of a label, a label and a flag,
# the slope of the model, what follows the score, and each cell on its own. Chosen on five laws and
# ten tables with real noise, 30 to 100 checked rows: with these the two rates were covered in 0.94
# and 0.97 and the cost in 0.94, with 1.5 for the label in 0.93, 0.92 and 0.91.
CELL_LABEL, CELL_CALL, CELL_SLOPE, CELL_SMOOTH, CELL_OWN = 2.5, 1.0, 0.3, 0.7, 0.5
# Rows of either class that are counted beside the checked ones of a label, fewer below the second
# share of the rarer label, by the square. With none the positives' rate was covered in 0.88. Where
# 6 % are positive and 4 in 10 of these missed, rates, share and prevalence were covered in 0.92 to
# 1.00 (40 draws of three designs), with fewer in proportion below a share of 0.1 in 0.68 to 1.00;
# estimated costs at 1 % and .1 % were lower by 0.01 to 0.1 times the true ones.
CELL_ROWS, CELL_RARE = 1.0, 0.05
# How far along the places of the score, which run from 0 to 1, neighbours teach each other.
CELL_REACH = 0.15
# What a checked row counts for: the scores and the curve, which it corrects, have seen it.
CHECKED_WEIGHT = 0.85
# The model is never surer than this of a cell.
CELL_SUREST = 1e-5
# Models may be off by more: the doubt is also taken this many times as large, at this prior weight.
CELL_WIDER, CELL_WIDER_WEIGHT = 2.5, 0.25
# Fewer checked rows than this may all be wrong by chance, and this many standard errors are chance.
CONTRADICT_ROWS, CONTRADICT_ERRORS = 10, 3.0

# What is said of the labels
# --------------------------
# Fewer rows of a label than this say nothing of noise: a curve through them fits anything.
SMALL_ROWS = 20
# Labels are "clean" when, at the level of all intervals, fewer than these shares are wrong: of all
# labels and of each class if errors are random (a class mostly mislabelled is not clean however
# rare it is), and fewer than the third whatever the curve. Chosen on eight ordinary tables and ten
# with real noise; with 0.5 for the class twice as many ordinary ones are clean, and so are 53
# positives of 1,000 rows whose labels miss four in five.
CLEAN_SHARE, CLEAN_CLASS, CLEAN_BOUND = 0.05, 0.3, 0.125
# Otherwise they are "undecided" where the interval is wider than this, or knowing the rate would
# save this share of the cost, and "noisy" where neither is. On splits 0 to 2 of the ordinary tables
# a third is undecided as recorded, and half with 40 % missed; at 0.01 nearly all of the latter. At
# a width of 0.15 half of simulated tables of 5,000 rows and an AUC of 0.8 are undecided.
WIDE_SHARE, LITTLE = 0.2, 0.02

# What people's labels say of a judge's
# -------------------------------------
# Bands of confidence within a label of the judge at most, and labels by people for each of them.
# In 216 simulated cells, 72 of them with rows chosen by confidence and no probabilities given, the
# three intervals covered 0.95 on average with these (worst 0.82); with 25 labels the share's
# covered 0.946, and with one band the rates of a judge only 0.92 (worst 0).
JUDGE_BANDS, JUDGE_BAND_LABELS = 4, 50
# Draws of the posterior: quantiles of fewer moved by more than a tenth of the interval's width.
JUDGE_DRAWS = 4000

# Scores that checked rows correct. Penalties of features in units of their spread, from hardly any
# correction to one of several columns; bias and slope may move by 2 and by .5. On five laws whose
# wrong labels follow the columns, 2,000 rows, 300 of them checked, regret fell from .30 to .14.
CORRECTION_PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0)
CORRECTION_BIAS, CORRECTION_SLOPE = 0.25, 4.0

# Several annotators
# ------------------
# Means and strengths of the distribution that annotators' rates come from: ordinary ones err in
# less than half of their labels, or the classes would have no names. Without the strong ones three
# annotators who are alike decided 0.007 worse than their majority (600 rows); with them one at 0.1
# beside 0.2 and 0.3 is covered in 0.82 (60 rows), so that rates of columns take weak ones only.
CROWD_MEANS = np.linspace(0.02, 0.48, 24)
CROWD_STRENGTHS = 2.0 ** np.arange(9)
CROWD_WEAK = 3
# By how much an interval of how often votes are wrong is widened, where columns helped to find it:
# their classifier is taken as exact. At 1 it held 15 of 20 rates of 1,000 items of 60 annotators;
# at half the spread classifiers are too sure of the rate, at twice it counts for a quarter.
CROWD_SPREAD = 1.5
# Labels to go through in all, and draws at least and at most.
CROWD_WORK, CROWD_DRAWS = 1_200_000, (100, 1000)
