//! A TOML file becomes an experiment: machine x variants x workload x seeds.
