//! A page of a small run in a real browser: it loads nothing, complains of nothing, and zoom,
//! search, hover, keys and links do what they say.

mod big;
mod browser;
mod small;
