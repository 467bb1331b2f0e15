"""What is run: the paper's problems, methods, protocol, and the tables that ask for them."""
