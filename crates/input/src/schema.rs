//! A JSON Schema from the rows of keys, for editors that complete and check what is written.
//!
//! What one key alone can tell is in it: names, types, bounds, words. What depends on several keys
//! is left to the reader of the document.

use crate::{Fallback, KeyDef, Kind};
use serde_json::{Map, Value, json};

/// A key, its schema, and whether it must be there.
pub type Property = (&'static str, Value, bool);

/// A table that has these keys and no others.
pub fn table(properties: Vec<Property>) -> Value {
    let required: Vec<&str> =
        properties.iter().filter(|(_, _, required)| *required).map(|(name, ..)| *name).collect();
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema, _)| (name.to_string(), schema)).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The schemas of keys.
pub fn keys<'a>(defs: impl IntoIterator<Item = &'a KeyDef>) -> Vec<Property> {
    defs.into_iter().map(key).collect()
}

/// The schema of a key.
pub fn key(def: &KeyDef) -> Property {
    key_of(def, "")
}

/// A key with its help, unit and default; `owners` have it, in words, unless all have.
pub fn key_of(def: &KeyDef, owners: &str) -> Property {
    let mut schema = value(def.kind);
    let mut description = def.help.to_string();
    if !def.unit.is_empty() {
        description += &format!(" [{}]", def.unit);
    }
    if !owners.is_empty() {
        description += &format!("; {owners}");
    }
    match def.default {
        Fallback::Words(words) => description += &format!("; default: {words}"),
        Fallback::Int(n) => schema["default"] = n.into(),
        Fallback::Float(x) => schema["default"] = x.into(),
        Fallback::Bool(b) => schema["default"] = b.into(),
        Fallback::Word(word) => schema["default"] = word.into(),
        Fallback::Required | Fallback::Elsewhere => {}
    }
    if let (Kind::Tables(_), true) = (def.kind, def.is_required()) {
        schema["minItems"] = 1.into();
    }
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    (def.name, schema, def.is_required())
}

/// What values of a kind look like.
pub fn value(kind: Kind) -> Value {
    match kind {
        Kind::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Float { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Bool => json!({ "type": ["boolean", "integer"], "minimum": 0, "maximum": 1 }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::File | Kind::Text | Kind::Line => json!({ "type": "string", "pattern": "\\S" }),
        Kind::Names => json!({ "type": "string" }),
        Kind::List(of) => json!({ "type": "array", "items": value(*of) }),
        Kind::Table(defs) => table(keys(defs)),
        Kind::Tables(defs) => json!({ "type": "array", "items": table(keys(defs)) }),
        Kind::Special(schema) => schema(),
    }
}

/// One of these words; what each means is for editors.
pub fn words(words: impl Iterator<Item = (String, String)>) -> Value {
    let (names, helps): (Vec<String>, Vec<String>) = words.unzip();
    json!({ "enum": names, "x-taplo": { "docs": { "enumValues": helps } } })
}
