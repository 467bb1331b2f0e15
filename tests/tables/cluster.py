"""A cluster of two processes on this machine, for tests of what Dask runs."""

import os
from contextlib import contextmanager

import pytest


@contextmanager
def local_cluster():
    """Start two workers: copies, where there are such, of one process that imports for all."""
    distributed = pytest.importorskip("distributed")
    import dask
    from distributed.utils import get_mp_context

    method = "forkserver" if hasattr(os, "fork") else "spawn"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            get_mp_context().set_forkserver_preload(["distributed", "flipcost.audit"])
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=None,
        ) as cluster:
            yield cluster
