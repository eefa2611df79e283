//! The outside's formats: what a run looks like to other tools, and what other tools have recorded.

pub mod export;
pub mod replay;
pub mod rt_app;
