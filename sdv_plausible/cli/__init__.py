"""The commands of ``sdv-plausible``, a module each: ``add_options`` and ``run``."""
