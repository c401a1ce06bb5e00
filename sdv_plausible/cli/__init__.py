"""The commands of ``sdv-plausible``, one module each with ``add_options`` and ``run``."""
