//! Where expressions are in a file, by what `syn` reads.

use std::collections::HashMap;
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Point;

/// The expressions of a file that cargo-mutants changes, by where their mutants begin.
pub struct Places<'a> {
    /// The byte at which each line begins, and the line.
    lines: Vec<(usize, &'a str)>,
    /// By the operator.
    operations: HashMap<usize, Range<usize>>,
    /// Where a guard is, or could be, and whether there is one; by the arm.
    guards: HashMap<usize, (Range<usize>, bool)>,
    /// The value of a field and that of the base; by the field.
    fields: HashMap<usize, (Range<usize>, String)>,
}

impl<'a> Places<'a> {
    /// Reads a file.
    pub fn of(text: &'a str) -> syn::Result<Self> {
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            lines.push((at, line));
            at += line.len();
        }
        let mut places = Places {
            lines,
            operations: HashMap::new(),
            guards: HashMap::new(),
            fields: HashMap::new(),
        };
        let file = syn::parse_file(text)?;
        Collect { places: &mut places, text }.visit_file(&file);
        Ok(places)
    }

    /// The byte of a place.
    pub fn offset(&self, point: Point) -> usize {
        let (start, line) = self.lines[point.line - 1];
        let column = line.char_indices().nth(point.column - 1).map_or(line.len(), |(at, _)| at);
        start + column
    }

    /// The whole expression whose operator is there.
    pub fn operation(&self, operator: usize) -> Option<Range<usize>> {
        self.operations.get(&operator).cloned()
    }

    /// The guard of the arm that begins there, or the place for one.
    pub fn guard(&self, arm: usize) -> Option<(Range<usize>, bool)> {
        self.guards.get(&arm).cloned()
    }

    /// The value of the field that begins there, and the one that it has without it.
    pub fn field(&self, field: usize) -> Option<(Range<usize>, String)> {
        self.fields.get(&field).cloned()
    }

    fn range(&self, node: &impl Spanned) -> Range<usize> {
        let byte = |at: LineColumn| self.offset(Point { line: at.line, column: at.column + 1 });
        byte(node.span().start())..byte(node.span().end())
    }
}

struct Collect<'p, 'a> {
    places: &'p mut Places<'a>,
    text: &'a str,
}

impl<'ast> Visit<'ast> for Collect<'_, '_> {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        // A chain of `let` cannot be put into parentheses.
        if !has_let(&node.left) && !has_let(&node.right) {
            let range = self.places.range(node);
            self.places.operations.insert(self.places.range(&node.op).start, range);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let range = self.places.range(node);
        self.places.operations.insert(range.start, range);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let at = self.places.range(node).start;
        let guard = match &node.guard {
            Some((_, guard)) => (self.places.range(guard), true),
            None => {
                let end = self.places.range(&node.pat).end;
                (end..end, false)
            }
        };
        self.places.guards.insert(at, guard);
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        if let Some(rest) = &node.rest {
            let mut base = self.text[self.places.range(rest)].to_owned();
            if base == "Default::default()" {
                base = format!("<{}>::default()", &self.text[self.places.range(&node.path)]);
            }
            for field in &node.fields {
                let syn::Member::Named(name) = &field.member else { continue };
                let value = self.places.range(&field.expr);
                // Of `Struct { field }` the value is the name.
                if field.colon_token.is_some() {
                    let at = self.places.range(field).start;
                    self.places.fields.insert(at, (value, format!("({base}).{name}")));
                }
            }
        }
        visit::visit_expr_struct(self, node);
    }
}

fn has_let(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}
