"""A validated description of data, preparation, method and parameters, from TOML or the doors."""
