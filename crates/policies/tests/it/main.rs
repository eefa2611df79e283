//! Policies against slow and obvious twins.

mod eevdf;
