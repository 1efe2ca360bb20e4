//! The rules of a schema held against one value, as the API server holds a schema's own defaults against them.
//!
//! What is known here is the language itself with bools, numbers, strings, lists and maps, its macros, and the
//! functions on strings and lists. Everything else (times, quantities, addresses, optionals…) is not known, and a rule
//! that comes to it says nothing: what is found is certain, what is not found may still be refused.

use std::cmp::Ordering;
use std::rc::Rc;

use serde_json::Value as Json;

use super::ast::{Ast, Expr, Fold, Id, Literal};
use super::eval_functions::call;
use super::library;
use super::report::Step;
use super::schema::{Additional, Rule, Schema};
use super::{names, parse};

/// How many steps all rules of one value may take; what takes more is not known.
const MAX_STEPS: usize = 500_000;
/// How deep an expression may be nested.
const MAX_DEPTH: usize = 100;

/// A rule that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The way to the schema whose rule it is, from that which the value was held against.
    pub path: Vec<Step>,
    /// Which of the schema's rules.
    pub rule: usize,
    /// Why the rule could not be answered; nothing where the answer is no.
    pub error: Option<&'static str>,
}

/// The first rule of the schema, or of those within it, that the value breaks.
///
/// Source: `Validator.Validate` of apiextensions-apiserver (`pkg/apiserver/schema/cel/validation.go`), with the value
/// as the old one too, as `ValidateDefaults` asks.
#[must_use]
pub fn broken_rule(schema: &Schema<'_>, value: &Json) -> Option<Broken> {
    let mut steps = MAX_STEPS;
    find(schema, value, &mut Vec::new(), &mut steps)
}

fn find(schema: &Schema<'_>, value: &Json, path: &mut Vec<Step>, steps: &mut usize) -> Option<Broken> {
    if value.is_null() {
        return None;
    }
    if !schema.rules.is_empty() && !schema.embedded_resource {
        let own = converted(schema, value);
        for (index, rule) in schema.rules.iter().enumerate() {
            let error = match holds(rule, &own, steps) {
                Ok(Val::Bool(false)) => None,
                Err(Stop::Error(error)) => Some(error),
                _ => continue,
            };
            return Some(Broken { path: path.clone(), rule: index, error });
        }
    }
    let mut within = |step: Step, schema: &Schema<'_>, value: &Json| {
        path.push(step);
        let found = find(schema, value, path, steps);
        path.pop();
        found
    };
    match value {
        Json::Array(items) => {
            let schema = schema.items.as_deref()?;
            items.iter().find_map(|item| within(Step::Items, schema, item))
        }
        Json::Object(map) => map.iter().find_map(|(key, value)| match schema.property(key) {
            Some(property) => within(Step::Property(key.clone()), property, value),
            None => within(Step::AdditionalProperties, schema.value_schema()?, value),
        }),
        _ => None,
    }
}

fn holds(rule: &Rule<'_>, own: &Val, steps: &mut usize) -> Outcome {
    // Twice asked: with the value as the old one, and with none.
    if rule.optional_old_self.is_some() {
        return Err(Stop::Unknown);
    }
    let ast = parse::parse(rule.rule, library::kubernetes().dialect).map_err(|_| Stop::Unknown)?;
    let variables = vec![("self", Ok(own.clone())), ("oldSelf", Ok(own.clone()))];
    Evaluation { ast: &ast, variables, steps, depth: 0 }.value(ast.root)
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is not known here.
    Unknown,
    /// The API server does not come to a value either.
    Error(&'static str),
}

pub(super) type Outcome = Result<Val, Stop>;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Rc<str>),
    List(Rc<Vec<Val>>),
    /// A list that is a set or a map, with an equality and an addition of its own.
    Keyed(Rc<Vec<Val>>),
    Map(Rc<Vec<(Val, Val)>>),
    /// The fields of an object, by the names that expressions have for them.
    Object(Rc<Vec<(String, Val)>>),
    /// Something of which nothing is known.
    Opaque,
}

impl Val {
    pub(super) fn string(text: impl Into<Rc<str>>) -> Self {
        Self::String(text.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    /// A length as an int.
    pub(super) fn length(length: usize) -> Outcome {
        i64::try_from(length).map(Self::Int).map_err(|_| Stop::Unknown)
    }
}

/// The value that expressions see of a schema's value (`UnstructuredToVal` of apiserver).
fn converted(schema: &Schema<'_>, value: &Json) -> Val {
    if schema.int_or_string {
        return match value {
            Json::Number(number) => number.as_i64().map_or(Val::Opaque, Val::Int),
            Json::String(text) => Val::string(text.as_str()),
            _ => Val::Opaque,
        };
    }
    match (schema.kind, value) {
        (_, Json::Null) => Val::Null,
        ("boolean", Json::Bool(value)) => Val::Bool(*value),
        ("integer", Json::Number(number)) => number.as_i64().map_or(Val::Opaque, Val::Int),
        ("number", Json::Number(number)) => number.as_f64().map_or(Val::Opaque, Val::Double),
        ("string", Json::String(text)) => match schema.format {
            "date" | "date-time" | "duration" | "byte" | "binary" => Val::Opaque,
            _ => Val::string(text.as_str()),
        },
        ("array", Json::Array(items)) => {
            let Some(of_items) = &schema.items else { return Val::Opaque };
            let items = Rc::new(items.iter().map(|item| converted(of_items, item)).collect());
            match schema.list_type {
                None | Some("atomic") => Val::List(items),
                Some(_) => Val::Keyed(items),
            }
        }
        ("object", Json::Object(_)) if schema.embedded_resource => Val::Opaque,
        ("object", Json::Object(map)) => match &schema.additional_properties {
            Additional::Schema(schema) => Val::Map(Rc::new(
                map.iter()
                    .map(|(key, value)| (Val::string(key.as_str()), converted(schema, value)))
                    .collect(),
            )),
            Additional::Unset if !schema.properties.is_empty() => {
                let field = |(key, value): (&String, &Json)| {
                    let property = schema.property(key)?;
                    Some((names::escape(key)?.into_owned(), converted(property, value)))
                };
                Val::Object(Rc::new(map.iter().filter_map(field).collect()))
            }
            _ => Val::Opaque,
        },
        _ => Val::Opaque,
    }
}

struct Evaluation<'a, 's> {
    ast: &'a Ast<'s>,
    variables: Vec<(&'a str, Outcome)>,
    steps: &'a mut usize,
    depth: usize,
}

impl<'a> Evaluation<'a, '_> {
    fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        *self.steps = self.steps.checked_sub(steps).ok_or(Stop::Unknown)?;
        Ok(())
    }

    fn value(&mut self, id: Id) -> Outcome {
        self.spend(1)?;
        if self.depth == MAX_DEPTH {
            return Err(Stop::Unknown);
        }
        self.depth += 1;
        let value = self.value_here(id);
        self.depth -= 1;
        value
    }

    fn value_here(&mut self, id: Id) -> Outcome {
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(literal) => match literal {
                Literal::Null => Ok(Val::Null),
                Literal::Bool(value) => Ok(Val::Bool(*value)),
                Literal::Int(value) => Ok(Val::Int(*value)),
                Literal::Uint(value) => Ok(Val::Uint(*value)),
                Literal::Double(value) => Ok(Val::Double(*value)),
                Literal::String(text) => Ok(Val::string(text.as_str())),
                Literal::Bytes(_) => Err(Stop::Unknown),
            },
            Expr::Ident(name) => self
                .variables
                .iter()
                .rev()
                .find(|(known, _)| known == name)
                .map_or(Err(Stop::Unknown), |(_, value)| value.clone()),
            Expr::Select { operand, field, test } => {
                let found = match self.value(*operand)? {
                    // A field that is null counts as not being there.
                    Val::Object(fields) => fields
                        .iter()
                        .find(|(name, value)| name == field && !matches!(value, Val::Null))
                        .map(|(_, value)| value.clone()),
                    Val::Map(entries) => entry(&entries, &Val::string(*field))?,
                    _ => return Err(Stop::Unknown),
                };
                if *test { Ok(Val::Bool(found.is_some())) } else { found.ok_or(NO_KEY) }
            }
            Expr::List { items, optional } if optional.is_empty() => {
                items.iter().map(|item| self.value(*item)).collect::<Result<_, _>>().map(Val::list)
            }
            Expr::Map(entries) if entries.iter().all(|entry| !entry.optional) => {
                let entries =
                    entries.iter().map(|entry| Ok((self.value(entry.key)?, self.value(entry.value)?)));
                entries.collect::<Result<_, Stop>>().map(|entries| Val::Map(Rc::new(entries)))
            }
            Expr::Call { target, function, args } => self.call(*target, function, args),
            Expr::Fold(fold) => self.fold(fold),
            Expr::List { .. } | Expr::Map(_) | Expr::Message { .. } => Err(Stop::Unknown),
        }
    }

    fn call(&mut self, target: Option<Id>, function: &str, args: &[Id]) -> Outcome {
        match (function, args) {
            ("_&&_", args) => return self.logic(args, false),
            ("_||_", args) => return self.logic(args, true),
            ("_?_:_", [condition, yes, no]) => {
                return match self.value(*condition)? {
                    Val::Bool(true) => self.value(*yes),
                    Val::Bool(false) => self.value(*no),
                    _ => Err(Stop::Unknown),
                };
            }
            ("@not_strictly_false", [value]) => {
                return match self.value(*value) {
                    Err(Stop::Unknown) => Err(Stop::Unknown),
                    value => Ok(Val::Bool(!matches!(value, Ok(Val::Bool(false))))),
                };
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for id in target.iter().chain(args) {
            values.push(self.value(*id)?);
        }
        for value in &values {
            self.spend(match value {
                Val::String(text) => text.len() / 10,
                Val::List(items) | Val::Keyed(items) => items.len(),
                Val::Map(entries) => entries.len(),
                _ => 0,
            })?;
        }
        call(function, target.is_some(), &values)
    }

    /// `&&` and `||`: one side that decides is enough, whatever becomes of the other.
    fn logic(&mut self, args: &[Id], deciding: bool) -> Outcome {
        let mut outcome = Ok(Val::Bool(!deciding));
        for arg in args {
            match self.value(*arg) {
                Ok(Val::Bool(value)) if value == deciding => return Ok(Val::Bool(deciding)),
                Ok(Val::Bool(_)) => {}
                Ok(_) | Err(Stop::Unknown) => outcome = Err(Stop::Unknown),
                Err(error) if outcome.is_ok() => outcome = Err(error),
                Err(_) => {}
            }
        }
        outcome
    }

    fn fold(&mut self, fold: &'a Fold<'_>) -> Outcome {
        let items: Vec<(Option<Val>, Val)> = match (self.value(fold.range)?, &fold.var2) {
            (Val::List(items) | Val::Keyed(items), None) => {
                items.iter().map(|item| (None, item.clone())).collect()
            }
            (Val::List(items) | Val::Keyed(items), Some(_)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| Ok((Some(Val::length(index)?), item.clone())))
                .collect::<Result<_, Stop>>()?,
            (Val::Map(entries), None) => entries.iter().map(|(key, _)| (None, key.clone())).collect(),
            (Val::Map(entries), Some(_)) => {
                entries.iter().map(|(key, value)| (Some(key.clone()), value.clone())).collect()
            }
            _ => return Err(Stop::Unknown),
        };
        let known = self.variables.len();
        let init = self.value(fold.init);
        self.variables.push((&fold.accumulator, init));
        let outcome = self.steps_of(fold, items, known);
        self.variables.truncate(known);
        outcome
    }

    fn steps_of(
        &mut self,
        fold: &'a Fold<'_>,
        items: Vec<(Option<Val>, Val)>,
        accumulator: usize,
    ) -> Outcome {
        for (first, second) in items {
            match (first, &fold.var2) {
                (Some(first), Some(var2)) => {
                    self.variables.push((&fold.var, Ok(first)));
                    self.variables.push((var2, Ok(second)));
                }
                _ => self.variables.push((&fold.var, Ok(second))),
            }
            let goes_on = self.value(fold.condition);
            let next = match goes_on {
                Ok(Val::Bool(true)) => Some(self.value(fold.step)),
                Ok(Val::Bool(false)) => None,
                _ => return Err(Stop::Unknown),
            };
            self.variables.truncate(accumulator + 1);
            match next {
                Some(next) => self.variables[accumulator].1 = next,
                None => break,
            }
        }
        self.value(fold.result)
    }
}

pub(super) const NO_KEY: Stop = Stop::Error("no such key");

/// What a map has at a key.
pub(super) fn entry(entries: &[(Val, Val)], key: &Val) -> Result<Option<Val>, Stop> {
    for (known, value) in entries {
        if equal(known, key)? {
            return Ok(Some(value.clone()));
        }
    }
    Ok(None)
}

/// Whether two values are equal: numbers by what they say, values of other types never.
pub(super) fn equal(a: &Val, b: &Val) -> Result<bool, Stop> {
    Ok(match (a, b) {
        (Val::Opaque | Val::Keyed(_), _) | (_, Val::Opaque | Val::Keyed(_)) => return Err(Stop::Unknown),
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => a == b,
        (Val::List(a), Val::List(b)) => {
            let mut all = a.len() == b.len();
            for (a, b) in a.iter().zip(b.iter()) {
                all = all && equal(a, b)?;
            }
            all
        }
        (Val::Map(a), Val::Map(b)) => {
            let mut all = a.len() == b.len();
            for (key, value) in a.iter() {
                all = all && matches!(entry(b, key)?, Some(other) if equal(value, &other)?);
            }
            all
        }
        (Val::Object(a), Val::Object(b)) => {
            let mut all = a.len() == b.len();
            for (name, value) in a.iter() {
                let other = b.iter().find(|(other, _)| other == name);
                all = all && matches!(other, Some((_, other)) if equal(value, other)?);
            }
            all
        }
        (a, b) if is_number(a) && is_number(b) => compare(a, b)? == Some(Ordering::Equal),
        // Of maps and objects that are compared with each other nothing is said.
        (Val::Map(_), Val::Object(_)) | (Val::Object(_), Val::Map(_)) => return Err(Stop::Unknown),
        _ => false,
    })
}

fn is_number(value: &Val) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

/// Which of two values is less; nothing where one is no number.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers that a double does not hold are not compared with one"
)]
pub(super) fn compare(a: &Val, b: &Val) -> Result<Option<Ordering>, Stop> {
    const EXACT: u64 = 1 << 53;
    let double = |value: &Val| match value {
        Val::Double(value) => Ok(*value),
        Val::Int(value) if value.unsigned_abs() <= EXACT => Ok(*value as f64),
        Val::Uint(value) if *value <= EXACT => Ok(*value as f64),
        _ => Err(Stop::Unknown),
    };
    let whole = |value: &Val| match value {
        Val::Int(value) => Ok(i128::from(*value)),
        Val::Uint(value) => Ok(i128::from(*value)),
        _ => Err(Stop::Unknown),
    };
    Ok(match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::String(a), Val::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Val::Double(_), _) | (_, Val::Double(_)) => double(a)?.partial_cmp(&double(b)?),
        _ => Some(whole(a)?.cmp(&whole(b)?)),
    })
}
