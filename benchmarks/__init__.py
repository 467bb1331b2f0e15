"""Speed and quality against the peers a user would pick instead, as ratios within one run."""
