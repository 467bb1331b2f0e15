"""The report of an audit: one HTML file, with nothing to fetch and nothing to install."""
