//! The formats of other tools: traces that they read, and recordings that they make.

pub mod export;
pub mod replay;
pub mod rt_app;
