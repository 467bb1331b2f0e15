"""The paper whole: its theory, its methods with their own mathematics, its tables.

Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence of Symmetric Label Noise", PAKDD
2019, with its supplement. Scheme 1, the closed form, is the one method of the paper on which the
product rests too: it is `flipcost.UnevenMarginClassifier`.

- `resampling`: scheme 2, Algorithm (eta~, alpha)
- `logistic`: probabilities by link functions; the baselines MUB and S-W0-1
- `forward`: the noise rate by likelihood in a logistic model
- `lspc`: least-squares probabilities
- `kliep`: probabilities from density ratios
- `losses`, `kernels`: what these are made of
- `theory`: every statement, printed and corrected, computed exactly
- `experiments`: the 23 tables regenerated
"""
