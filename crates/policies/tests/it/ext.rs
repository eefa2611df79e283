//! Schedulers of the sched_ext shape: what the layer promises them, and what they promise.

mod bpf;
mod cgroups;
mod change;
mod kick;
mod life;
mod load;
mod nodes;
mod partial;
mod slices;
mod watchdog;
