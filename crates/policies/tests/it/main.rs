//! Schedulers in whole simulations: invariants, shares, conservation of work, models.

mod bandwidth;
mod conservation;
mod eevdf;
mod ext;
mod fairness;
mod freq_scale;
mod groups;
mod idle;
mod invariants;
mod names;
mod nested;
mod rq_clock;
mod scale;
mod sched_stat;
mod shared_runq;
mod signals;
mod steal;
mod wakers;
