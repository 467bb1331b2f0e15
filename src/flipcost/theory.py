"""The paper's theory under its public name; it lives in `flipcost.paper.theory`."""

from flipcost.paper.theory import *  # noqa: F403
from flipcost.paper.theory import __all__  # noqa: F401
