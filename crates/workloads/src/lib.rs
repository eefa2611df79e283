//! What tasks do: the programs that the simulated tasks run.
