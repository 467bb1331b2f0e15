"""How it is run: units of work, where finished ones are kept, and the whole reproduction."""
