//! The rules of a schema evaluated on one value, as the API server evaluates them on a schema's own defaults.
//!
//! The evaluator supports the language with bools, numbers, strings, lists and maps, its macros, and the functions on strings
//! and lists. A rule that needs anything else (times, quantities, addresses, optionals…) has no result. A reported rule is
//! therefore certainly rejected by the API server; a rule that is not reported may still be.
//!
//! A [`Budget`] limits two things: Kubernetes' own costs, whose limits the API server enforces, and the work that this
//! evaluator does, which Kubernetes' costs underestimate.

use std::rc::Rc;

use serde_json::Value as Json;

use super::ast::{Ast, Expr, Fold, Id, Literal};
use super::base_costs::{LIST_COST, MAP_COST};
use super::budget::Budget;
use super::eval_functions::call;
use super::library;
use super::report::Step;
use super::schema::{AdditionalProperties, Rule, Schema};
use super::server::Server;
use super::stop::{NO_KEY, Stop};
use super::value::{Map, Outcome, Val};
use super::{decl, names, parse};

/// How deep an expression may be nested.
const MAX_DEPTH: usize = 100;

/// A rule that a value does not satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// The path from the schema of the value to the schema that contains the rule.
    pub path: Vec<Step>,
    /// Which of the schema's rules.
    pub rule: usize,
    /// Why the rule could not be evaluated; `None` if its result is `false`.
    pub error: Option<&'static str>,
}

/// Returns the first rule of the schema, or of those within it, that the value breaks.
///
/// `budget` is shared by all defaults of one version of a CRD, as it is in the API server.
///
/// Source: `Validator.Validate` of apiextensions-apiserver (`pkg/apiserver/schema/cel/validation.go`), with the value
/// as the old one too, as `ValidateDefaults` evaluates them.
#[must_use]
pub fn broken_rule(schema: &Schema<'_>, value: &Json, budget: &mut Budget) -> Option<BrokenRule> {
    find(schema, value, false, &mut Vec::new(), budget)
}

/// Returns the first rule that a resource breaks, as [`broken_rule`] does for the schema of its version: rules of the whole
/// resource can read `kind`, `apiVersion`, `metadata.name` and `metadata.generateName`, which the schema need not declare.
///
/// Source: `WithTypeAndObjectMeta` of apiextensions-apiserver (`pkg/apiserver/schema/cel/model/schemas.go`).
#[must_use]
pub fn rule_broken_by_resource(
    schema: &Schema<'_>,
    resource: &Json,
    budget: &mut Budget,
) -> Option<BrokenRule> {
    find(schema, resource, true, &mut Vec::new(), budget)
}

fn find(
    schema: &Schema<'_>,
    value: &Json,
    is_resource: bool,
    path: &mut Vec<Step>,
    budget: &mut Budget,
) -> Option<BrokenRule> {
    if value.is_null() {
        return None;
    }
    if !schema.rules.is_empty() && !schema.embedded_resource {
        let own = if is_resource && !decl::has_meta(schema) {
            converted_resource(schema, value)
        } else {
            converted(schema, value)
        };
        for (index, rule) in schema.rules.iter().enumerate() {
            if budget.is_spent() {
                let error = Some(SCHEMA_BUDGET);
                return Some(BrokenRule { path: path.clone(), rule: index, error });
            }
            budget.begin();
            let outcome = holds(rule, &own, budget);
            let within = budget.end();
            let error = match outcome {
                Err(Stop::Cost) => Some(RULE_LIMIT),
                _ if !within => Some(SCHEMA_BUDGET),
                Ok(Val::Bool(false)) => None,
                Err(Stop::Error(error)) => Some(error),
                _ => continue,
            };
            return Some(BrokenRule { path: path.clone(), rule: index, error });
        }
    }
    let mut within = |step: Step, schema: &Schema<'_>, value: &Json| {
        path.push(step);
        let found = find(schema, value, false, path, budget);
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

const RULE_LIMIT: &str = "its evaluation exceeds the API server's cost limit of 1000000 for one rule";
const SCHEMA_BUDGET: &str =
    "the API server's cost budget of 10000000 for all defaults of a version is exhausted";

fn holds(rule: &Rule<'_>, own: &Val, budget: &mut Budget) -> Outcome {
    // Evaluated twice: with the value as the old one, and with none.
    if rule.optional_old_self.is_some() {
        return Err(Stop::Unknown);
    }
    let ast = parse::parse(rule.rule, library::kubernetes().dialect, &Server::new(Server::NEWEST))
        .map_err(|_| Stop::Unknown)?;
    let variables = vec![("self", Ok(own.clone())), ("oldSelf", Ok(own.clone()))];
    Evaluation { ast: &ast, variables, budget, depth: 0 }.value(ast.root)
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
            AdditionalProperties::Schema(schema) => {
                let entries = map.iter().map(|(key, value)| (key.as_str().into(), converted(schema, value)));
                Val::Map(Rc::new(Map::sorted(entries.collect())))
            }
            AdditionalProperties::Unset if !schema.properties.is_empty() => {
                let field = |(key, value): (&String, &Json)| {
                    let property = schema.property(key)?;
                    Some((names::escape(key)?.into_owned(), converted(property, value)))
                };
                let mut fields: Vec<_> = map.iter().filter_map(field).collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                Val::Object(Rc::new(fields))
            }
            _ => Val::Opaque,
        },
        _ => Val::Opaque,
    }
}

/// The value that expressions see of a resource whose schema does not declare what every resource has.
fn converted_resource(schema: &Schema<'_>, value: &Json) -> Val {
    let Json::Object(map) = value else { return Val::Opaque };
    let text = |value: &Json| value.as_str().map_or(Val::Opaque, Val::string);
    let field = |(key, value): (&String, &Json)| {
        let converted = match key.as_str() {
            "kind" | "apiVersion" => text(value),
            "metadata" => {
                let names = ["generateName", "name"].into_iter();
                let fields = names.filter_map(|name| Some((name.to_owned(), text(value.get(name)?))));
                Val::Object(Rc::new(fields.collect()))
            }
            _ => converted(schema.property(key)?, value),
        };
        Some((names::escape(key)?.into_owned(), converted))
    };
    let mut fields: Vec<_> = map.iter().filter_map(field).collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Val::Object(Rc::new(fields))
}

struct Evaluation<'a, 's> {
    ast: &'a Ast<'s>,
    variables: Vec<(&'a str, Outcome)>,
    budget: &'a mut Budget,
    depth: usize,
}

impl<'a> Evaluation<'a, '_> {
    fn value(&mut self, id: Id) -> Outcome {
        self.budget.work(1)?;
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
            Expr::Ident(name) => {
                self.budget.cost(1)?;
                let variable = self.variables.iter().rev().find(|(known, _)| known == name);
                variable.map_or(Err(Stop::Unknown), |(_, value)| value.clone())
            }
            Expr::Select { operand, field, test } => {
                let operand_value = self.value(*operand)?;
                if *test {
                    // The test has no cost, and is one attribute with what it stands behind.
                    self.refund(*operand);
                } else {
                    self.budget.cost(1)?;
                }
                let found = match operand_value {
                    // A field that is null counts as not being there.
                    Val::Object(fields) => fields
                        .binary_search_by(|(name, _)| name.as_str().cmp(field))
                        .ok()
                        .map(|at| fields[at].1.clone())
                        .filter(|value| !matches!(value, Val::Null)),
                    Val::Map(map) => map.get(&Val::string(*field), self.budget)?,
                    _ => return Err(Stop::Unknown),
                };
                if *test { Ok(Val::Bool(found.is_some())) } else { found.ok_or(NO_KEY) }
            }
            Expr::List { items, optional } if optional.is_empty() => {
                if !self.is_constant(id) {
                    self.budget.cost(LIST_COST)?;
                }
                items.iter().map(|item| self.value(*item)).collect::<Result<_, _>>().map(Val::list)
            }
            Expr::Map(entries) if entries.iter().all(|entry| !entry.optional) => {
                if !self.is_constant(id) {
                    self.budget.cost(MAP_COST)?;
                }
                let entries =
                    entries.iter().map(|entry| Ok((self.value(entry.key)?, self.value(entry.value)?)));
                let entries = entries.collect::<Result<_, Stop>>()?;
                Ok(Val::Map(Rc::new(Map::literal(entries))))
            }
            Expr::Call { target, function, args } => self.call(*target, function, args),
            Expr::Fold(fold) => self.fold(fold),
            Expr::List { .. } | Expr::Map(_) | Expr::Message { .. } => Err(Stop::Unknown),
        }
    }

    /// Whether the API server takes a literal as a constant, which costs nothing.
    fn is_constant(&self, id: Id) -> bool {
        match self.ast.expr(id) {
            Expr::Literal(_) => true,
            Expr::List { items, .. } => items.iter().all(|item| self.is_constant(*item)),
            Expr::Map(entries) => {
                entries.iter().all(|entry| self.is_constant(entry.key) && self.is_constant(entry.value))
            }
            _ => false,
        }
    }

    /// Takes the cost of a variable back that is not evaluated for itself, but as part of another expression. Costs
    /// here are never more than the API server's.
    fn refund(&mut self, id: Id) {
        if matches!(self.ast.expr(id), Expr::Ident(_) | Expr::Select { .. }) {
            self.budget.refund(1);
        }
    }

    fn call(&mut self, target: Option<Id>, function: &str, args: &[Id]) -> Outcome {
        match (function, args) {
            ("_&&_", args) => return self.logic(args, false),
            ("_||_", args) => return self.logic(args, true),
            ("_?_:_", [condition, yes, no]) => {
                let chosen = match self.value(*condition)? {
                    Val::Bool(true) => *yes,
                    Val::Bool(false) => *no,
                    _ => return Err(Stop::Unknown),
                };
                let value = self.value(chosen);
                self.refund(chosen);
                return value;
            }
            ("@not_strictly_false", [value]) => {
                self.budget.cost(1)?;
                return match self.value(*value) {
                    Err(stop @ (Stop::Unknown | Stop::Cost)) => Err(stop),
                    value => Ok(Val::Bool(!matches!(value, Ok(Val::Bool(false))))),
                };
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for id in target.iter().chain(args) {
            values.push(self.value(*id)?);
        }
        if function == "_[_]"
            && let [_, index] = args
        {
            self.refund(*index);
        }
        if function == "@in"
            && let [_, list] = args
            && self.is_constant(*list)
        {
            self.budget.constant_membership();
        }
        call(function, target.is_some(), &values, self.budget)
    }

    /// `&&` and `||`: one side that decides is enough, whatever becomes of the other.
    fn logic(&mut self, args: &[Id], deciding: bool) -> Outcome {
        let mut outcome = Ok(Val::Bool(!deciding));
        for arg in args {
            match self.value(*arg) {
                Ok(Val::Bool(value)) if value == deciding => return Ok(Val::Bool(deciding)),
                Ok(Val::Bool(_)) => {}
                Err(Stop::Cost) => return Err(Stop::Cost),
                Ok(_) | Err(Stop::Unknown) => outcome = Err(Stop::Unknown),
                Err(error) if outcome.is_ok() => outcome = Err(error),
                Err(_) => {}
            }
        }
        outcome
    }

    fn fold(&mut self, fold: &'a Fold<'_>) -> Outcome {
        let range = self.value(fold.range)?;
        if let Val::List(_) | Val::Keyed(_) | Val::Map(_) = range {
            self.budget.work(usize::try_from(range.size() / 8).unwrap_or(usize::MAX))?;
        }
        let items: Vec<(Option<Val>, Val)> = match (range, &fold.var2) {
            (Val::List(items) | Val::Keyed(items), None) => {
                items.iter().map(|item| (None, item.clone())).collect()
            }
            (Val::List(items) | Val::Keyed(items), Some(_)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| Ok((Some(Val::length(index)?), item.clone())))
                .collect::<Result<_, Stop>>()?,
            (Val::Map(map), None) => map.entries.iter().map(|(key, _)| (None, key.clone())).collect(),
            (Val::Map(map), Some(_)) => {
                map.entries.iter().map(|(key, value)| (Some(key.clone()), value.clone())).collect()
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
                Err(Stop::Cost) => return Err(Stop::Cost),
                _ => return Err(Stop::Unknown),
            };
            self.variables.truncate(accumulator + 1);
            match next {
                Some(Err(Stop::Cost)) => return Err(Stop::Cost),
                Some(next) => self.variables[accumulator].1 = next,
                None => break,
            }
        }
        self.value(fold.result)
    }
}
