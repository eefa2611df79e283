//! Texts that people write: a TOML document with places, its keys, and what is wrong with it.
//!
//! Scenarios and machines are read in the same way. [`parse()`] turns a text into a document whose
//! values know their places. The keys of each table are rows ([`KeyDef`]): name, kind of value,
//! bounds, default. A [`Walk`] reads values against rows and notes every [`Fault`], so one look
//! shows all of them; a misspelled name gets the nearest known one ([`nearest()`]). The same rows
//! become a JSON Schema ([`schema`]).
//!
//! ```
//! use input::{Faults, KeyDef, Kind, Source, Walk, parse};
//!
//! const RACK: &[KeyDef] = &[
//!     KeyDef::required("servers", Kind::Int { min: 1, max: 40 }),
//!     KeyDef::optional("label", Kind::Text),
//! ];
//! let source = Source::new("rack.toml", "servers = 50\nlable = 'A7'\n");
//! let document = parse(&source.text).expect("it is TOML");
//! let mut walk = Walk::default();
//! let rack = walk.table_of("the rack", &document, RACK);
//! assert_eq!(rack.int::<u32>(&mut walk, "servers"), None);
//! let shown = Faults::of(walk.faults, &source).render(false);
//! assert!(shown.contains("`servers` must be at most 40") && shown.contains("`label`?"));
//! ```
//!
//! Nothing here knows of scheduling, and no file is read.

mod fault;
mod key;
mod nearest;
mod parse;
pub mod schema;
mod table;
mod walk;

pub use fault::{Fault, Faults, Source};
pub use key::{Fallback, KeyDef, Kind, Value, words};
pub use nearest::{did_you_mean, nearest};
pub use parse::parse;
pub use table::Table;
pub use walk::{Node, Walk};
