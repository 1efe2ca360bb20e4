//! The checks of literals that Kubernetes runs after type checking (cel-go
//! `cel/validator.go`, `ext/formatting.go`): durations, times, patterns, mixed literals, formats.

use super::ast::{Ast, Expr, Fault, Id, Literal};
use super::check::Checked;
use super::format;
use super::time;
use super::types::{Ty, Types};
use crate::go_regex::GoRegex;

/// Checks all literals of a checked expression.
///
/// # Errors
/// All invalid literals.
pub(crate) fn validate(ast: &Ast<'_>, checked: &Checked, types: &mut Types) -> Result<(), Vec<Fault>> {
    let mut validator = Validator { ast, checked, types, faults: Vec::new() };
    validator.visit(ast.root, false);
    if validator.faults.is_empty() { Ok(()) } else { Err(validator.faults) }
}

struct Validator<'a, 's> {
    ast: &'a Ast<'s>,
    checked: &'a Checked,
    types: &'a mut Types,
    faults: Vec<Fault>,
}

impl Validator<'_, '_> {
    fn fault(&mut self, id: Id, message: impl Into<String>) {
        self.faults.push(Fault::new(self.ast.at(id), message));
    }

    /// Checks a node and all nodes below it. `mixed` is set for an argument of `format`, whose literals may have elements
    /// of several types.
    fn visit(&mut self, id: Id, mixed: bool) {
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(_) | Expr::Ident(_) => {}
            Expr::Select { operand, .. } => self.visit(*operand, mixed),
            Expr::Call { target, function, args } => {
                self.call(id, *target, function, args);
                let mixed = mixed || function == "format";
                for child in target.iter().chain(args) {
                    self.visit(*child, mixed);
                }
            }
            Expr::List { items, optional } => {
                if !mixed {
                    self.homogeneous(
                        items.iter().enumerate().map(|(index, item)| (*item, optional.contains(&index))),
                    );
                }
                for item in items {
                    self.visit(*item, mixed);
                }
            }
            Expr::Map(entries) => {
                if !mixed {
                    self.homogeneous(entries.iter().map(|entry| (entry.key, false)));
                    self.homogeneous(entries.iter().map(|entry| (entry.value, entry.optional)));
                }
                for entry in entries {
                    self.visit(entry.key, mixed);
                    self.visit(entry.value, mixed);
                }
            }
            Expr::Message { fields, .. } => {
                for field in fields {
                    self.visit(field.value, mixed);
                }
            }
            Expr::Fold(fold) => {
                for part in [fold.range, fold.init, fold.condition, fold.step, fold.result] {
                    self.visit(part, mixed);
                }
            }
        }
    }

    fn homogeneous(&mut self, elements: impl Iterator<Item = (Id, bool)>) {
        let mut wanted: Option<Ty> = None;
        for (id, optional) in elements {
            let mut ty = self.checked.ty(id);
            if optional {
                match self.types.inside_optional(ty) {
                    Some(inner) => ty = inner,
                    // cel-go panics here, and the API server answers with an error.
                    None => return self.fault(id, "an entry with `?` requires an optional value"),
                }
            }
            let wanted = *wanted.get_or_insert(ty);
            if !self.types.same(wanted, ty) {
                let (wanted, found) = (self.types.name(wanted), self.types.name(ty));
                return self.fault(
                    id,
                    format!(
                        "elements of a literal must have the same type: expected {wanted}, found {found}"
                    ),
                );
            }
        }
    }

    fn call(&mut self, id: Id, target: Option<Id>, function: &str, args: &[Id]) {
        if function == "format" {
            let (Some(target), [list]) = (target, args) else { return };
            if let (Expr::Literal(Literal::String(text)), Expr::List { items, .. }) =
                (self.ast.expr(target), self.ast.expr(*list))
                && let Err((at, message)) = format::check(text, items, self.ast, self.checked, self.types)
            {
                self.fault(at.unwrap_or(id), message);
            }
            return;
        }
        let Some(first) = args.first() else { return };
        let Expr::Literal(literal) = self.ast.expr(*first) else { return };
        match function {
            "duration" => {
                let valid = matches!(literal, Literal::String(text) if time::duration(text).is_some());
                if !valid {
                    self.fault(*first, "invalid duration: must be like `1h30m` or `500ms`");
                }
            }
            "timestamp" => {
                let valid = match literal {
                    Literal::String(text) => time::timestamp(text).is_some(),
                    Literal::Int(seconds) => time::in_range(*seconds),
                    _ => false,
                };
                if !valid {
                    self.fault(*first, "invalid timestamp: must be like `2024-01-31T00:00:00Z`");
                }
            }
            // In matches(text, pattern) the first argument is the text; the API server reads it as
            // a pattern all the same.
            "matches" => match literal {
                Literal::String(pattern) => {
                    if let Err(error) = GoRegex::parse(pattern) {
                        self.fault(*first, format!("invalid regular expression: {error}"));
                    }
                }
                _ => self.fault(*first, "invalid pattern: expected a string"),
            },
            _ => {}
        }
    }
}
