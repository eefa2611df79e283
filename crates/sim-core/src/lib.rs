//! Time, events, CPUs, tasks, locks and interrupts: the mechanism every policy shares.
