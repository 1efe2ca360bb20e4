//! All rules of one schema, as a `CustomResourceDefinition` is validated when it is created
//! (`ValidateCustomResourceDefinitionOpenAPISchema` and `CELSchemaContext` of apiextensions-apiserver).

use std::collections::HashMap;

use super::compile::{Compiled, compile};
use super::decl::{DeclId, Declarations, MAX_REQUEST};
use super::environment::Environment;
use super::library::{self, Library};
use super::report::{Cost, Field, Problem, Report, Step};
use super::schema::{AdditionalProperties, Rule, Schema};
use super::server::Server;
use super::types::{self, Ty, Types};
use super::{field_path, names, report};

/// Maximum cost of one expression (`StaticEstimatedCostLimit`).
pub const EXPRESSION_LIMIT: u64 = 10_000_000;
/// Maximum cost of all expressions of one schema (`StaticEstimatedCRDCostLimit`).
pub const SCHEMA_LIMIT: u64 = 100_000_000;

/// Maximum number of problems of one kind that are reported for one schema.
const MAX_PROBLEMS: usize = 10_000;
/// Maximum number of problems that are reported for one expression. A short expression can have hundreds, which rarely
/// add information.
const MAX_FAULTS: usize = 10;

const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Validates all rules in the schema of one version.
///
/// Rules below `allOf`, `anyOf`, `oneOf` and `not` are skipped: the API server forbids them there. The schema should be
/// structural; otherwise, the API server does not validate its rules.
///
/// [`Server::same`] of `server` has the versions for which the report is the same.
#[must_use]
pub fn check_schema(schema: &Schema<'_>, server: &Server) -> Report {
    let library = library::kubernetes();
    let mut walk = Walk {
        library,
        server,
        types: library.types.clone(),
        declarations: Declarations::for_rules_of(schema),
        path: Vec::new(),
        report: Report::default(),
        counts: HashMap::new(),
    };
    let position = Position { info: Info::Outside, cardinality: Some(1), uncorrelated: None };
    walk.node(schema, &position);
    walk.total();
    walk.report
}

/// The declaration of `self` at a node.
#[derive(Debug, Clone, Copy)]
enum Info {
    /// Neither the schema nor one above it has rules.
    Outside,
    Known(DeclId),
    /// The schema, or one above it that has rules, has no type that an expression could see.
    Untyped,
}

/// What a node inherits from its ancestors in the schema.
#[derive(Debug, Clone, Copy)]
struct Position {
    info: Info,
    /// The maximum number of values; `None` if it is not limited.
    cardinality: Option<u64>,
    /// How many steps down the path the first node is whose children cannot be told apart between
    /// an object's old and new state.
    uncorrelated: Option<usize>,
}

struct Walk<'a> {
    library: &'static Library,
    server: &'a Server,
    types: Types,
    declarations: Declarations<'a>,
    path: Vec<Step>,
    report: Report,
    /// The number of problems of each kind.
    counts: HashMap<Field, usize>,
}

impl<'a> Walk<'a> {
    fn node(&mut self, schema: &Schema<'a>, position: &Position) {
        let mut position = *position;
        if !schema.rules.is_empty() && matches!(position.info, Info::Outside) {
            position.info = self.declare(schema);
        }
        let cardinality = match (position.cardinality, schema.max_elements()) {
            (Some(count), Some(elements)) => Some(count.saturating_mul(elements)),
            _ => None,
        };
        let depth = self.path.len();
        let child = |info: Info, correlated: bool| Position {
            info,
            cardinality,
            uncorrelated: position.uncorrelated.or((!correlated).then_some(depth)),
        };
        if let AdditionalProperties::Schema(values) = &schema.additional_properties {
            let info = self.element_info(position.info);
            self.path.push(Step::AdditionalProperties);
            self.node(values, &child(info, true));
            self.path.pop();
        }
        for (name, property) in &schema.properties {
            let info = self.property_info(position.info, name, property);
            self.path.push(Step::Property((*name).to_owned()));
            self.node(property, &child(info, true));
            self.path.pop();
        }
        if let Some(items) = &schema.items {
            let info = self.element_info(position.info);
            self.path.push(Step::Items);
            self.node(items, &child(info, schema.list_type == Some("map")));
            self.path.pop();
        }
        if !schema.rules.is_empty() {
            self.rules(schema, &position);
        }
    }

    fn declare(&mut self, schema: &Schema<'a>) -> Info {
        let resource = self.path.is_empty() || schema.embedded_resource;
        self.declarations
            .declare(&mut self.types, schema, resource, self.server)
            .map_or(Info::Untyped, Info::Known)
    }

    fn property_info(&mut self, parent: Info, name: &str, property: &Schema<'a>) -> Info {
        let Info::Known(parent) = parent else { return parent };
        match names::escape(name).and_then(|name| self.declarations.member(parent, &name)) {
            Some(id) => Info::Known(id),
            None if has_rules(property) => self
                .declarations
                .declare(&mut self.types, property, property.embedded_resource, self.server)
                .map_or(Info::Untyped, Info::Known),
            None => Info::Outside,
        }
    }

    fn element_info(&self, parent: Info) -> Info {
        match parent {
            Info::Known(parent) => self.declarations.element(parent).map_or(Info::Untyped, Info::Known),
            other => other,
        }
    }

    fn problem(&mut self, rule: usize, field: Field, message: impl Into<String>) {
        self.push(rule, field, message.into(), None);
    }

    /// Adds a problem of a rule here, unless there are [`MAX_PROBLEMS`] of its kind.
    fn push(&mut self, rule: usize, field: Field, message: String, at: Option<(usize, usize)>) {
        let count = self.counts.entry(field).or_default();
        *count += 1;
        if *count <= MAX_PROBLEMS {
            let path = self.path.clone();
            self.report.problems.push(Problem { path, rule: Some(rule), field, message, position: at });
        }
    }

    fn rules(&mut self, schema: &Schema<'a>, position: &Position) {
        for (index, rule) in schema.rules.iter().enumerate() {
            self.plain_fields(schema, index, rule);
        }
        let Info::Known(root) = position.info else {
            for index in 0..schema.rules.len() {
                self.problem(index, Field::Rule, "unsupported schema: a rule requires a schema with types");
            }
            return;
        };
        let own = self.types_of(root);
        let count = self.types.count();
        for (index, rule) in schema.rules.iter().enumerate() {
            self.expressions(index, rule, root, own, position);
            self.types.truncate(count);
        }
    }

    /// Validates everything but the expressions.
    fn plain_fields(&mut self, schema: &Schema<'a>, index: usize, rule: &Rule<'a>) {
        let text = rule.rule.trim();
        let message = rule.message.trim();
        if text.is_empty() {
            self.problem(index, Field::Rule, "empty rule: must be a CEL expression");
        } else if !rule.message.is_empty() && message.is_empty() {
            self.problem(index, Field::Message, "blank message: must have text or be unset");
        } else if has_line_breaks(message) {
            self.problem(index, Field::Message, "invalid message: must not contain line breaks");
        } else if has_line_breaks(text) && message.is_empty() {
            self.problem(index, Field::Message, "missing message: required for a rule with line breaks");
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            self.problem(
                index,
                Field::MessageExpression,
                "blank messageExpression: must be a CEL expression or unset",
            );
        }
        if let Some(reason) = rule.reason.filter(|reason| !REASONS.contains(reason)) {
            self.problem(
                index,
                Field::Reason,
                format!("unsupported reason `{reason}`: must be `{}`", REASONS.join("`, `")),
            );
        }
        if rule.field_path.is_empty() {
            return;
        }
        if has_line_breaks(rule.field_path) {
            self.problem(index, Field::FieldPath, "invalid fieldPath: must not contain line breaks");
        } else if rule.field_path.trim().is_empty() {
            self.problem(index, Field::FieldPath, "blank fieldPath: must be a path or unset");
        } else if let Err(error) = field_path::check(rule.field_path, schema) {
            self.problem(
                index,
                Field::FieldPath,
                format!("invalid fieldPath `{}`: {error}", rule.field_path),
            );
        }
    }

    /// The types that `oldSelf` has, plain and optional.
    fn types_of(&mut self, root: DeclId) -> (Ty, Ty) {
        let ty = self.declarations.get(root).ty;
        (ty, self.types.optional(ty))
    }

    fn compile(
        &mut self,
        index: usize,
        field: Field,
        source: &str,
        root: DeclId,
        variables: &[(&'static str, Ty)],
    ) -> Option<Compiled> {
        let environment = Environment {
            library: self.library,
            server: self.server,
            variables,
            declarations: &self.declarations,
            root: Some(root),
        };
        match compile(source, &environment, &mut self.types) {
            Ok(compiled) => Some(compiled),
            Err(faults) => {
                for fault in faults.into_iter().take(MAX_FAULTS) {
                    self.push(index, field, fault.message, Some(report::position(source, fault.at)));
                }
                None
            }
        }
    }

    fn expressions(
        &mut self,
        index: usize,
        rule: &Rule<'a>,
        root: DeclId,
        own: (Ty, Ty),
        position: &Position,
    ) {
        let old = if rule.optional_old_self == Some(true) { own.1 } else { own.0 };
        let variables = [("self", own.0), ("oldSelf", old)];
        let most = MAX_REQUEST / (self.declarations.get(root).min_size + 1);
        let times = position.cardinality.unwrap_or(u64::try_from(most).unwrap_or(0));
        let mut uses_old_self = None;
        if !rule.rule.trim().is_empty()
            && let Some(compiled) = self.compile(index, Field::Rule, rule.rule, root, &variables)
        {
            if compiled.ty == types::BOOL {
                uses_old_self = Some(compiled.uses_old_self);
                self.observe(index, Field::Rule, compiled.cost.max, times);
            } else {
                let found = self.types.name(compiled.ty);
                self.problem(index, Field::Rule, format!("invalid rule: expected type bool, found {found}"));
            }
        }
        if !rule.message_expression.trim().is_empty()
            && let Some(compiled) =
                self.compile(index, Field::MessageExpression, rule.message_expression, root, &variables)
        {
            if compiled.ty == types::STRING {
                // The API server does not evaluate the message of a rule that it rejects.
                if uses_old_self.is_some() {
                    self.observe(index, Field::MessageExpression, compiled.cost.max, 1);
                }
            } else {
                let found = self.types.name(compiled.ty);
                self.problem(
                    index,
                    Field::MessageExpression,
                    format!("invalid messageExpression: expected type string, found {found}"),
                );
            }
        }
        match (uses_old_self, position.uncorrelated) {
            (Some(true), Some(depth)) => {
                let within = report::format_path(&self.path[..depth]);
                let within = if within.is_empty() { "at the root of the schema".to_owned() } else { within };
                self.problem(
                    index,
                    Field::Rule,
                    format!(
                        "`oldSelf` is not supported here: old and new items of the list {within} cannot be correlated without \
                         `x-kubernetes-list-type: map`"
                    ),
                );
            }
            (Some(false), _) if rule.optional_old_self.is_some() => {
                self.problem(
                    index,
                    Field::OptionalOldSelf,
                    "unexpected optionalOldSelf: the rule does not use `oldSelf`",
                );
            }
            _ => {}
        }
    }

    /// Records the cost of an expression, and reports one that exceeds the limit.
    fn observe(&mut self, rule: usize, field: Field, estimate: u64, times: u64) {
        let cost = estimate.saturating_mul(times);
        self.report.total = self.report.total.saturating_add(cost);
        self.report.costs.push(Cost { path: self.path.clone(), rule, field, estimate, times, cost });
        if cost > EXPRESSION_LIMIT {
            let what = if field == Field::Rule { "rule" } else { "messageExpression" };
            let message =
                report::too_expensive(&format!("estimated cost of the {what}"), cost, EXPRESSION_LIMIT);
            self.problem(rule, field, message);
        }
    }

    /// Reports a schema whose total cost exceeds the limit.
    fn total(&mut self) {
        if self.report.total <= SCHEMA_LIMIT {
            return;
        }
        let mut expensive: Vec<&Cost> =
            self.report.costs.iter().filter(|cost| cost.cost >= SCHEMA_LIMIT / 100).collect();
        expensive.sort_by_key(|cost| std::cmp::Reverse(cost.cost));
        let listed: Vec<String> = expensive.iter().take(4).map(|cost| cost.name()).collect();
        let mut message = report::too_expensive(
            "estimated cost of all rules of the schema",
            self.report.total,
            SCHEMA_LIMIT,
        );
        if !listed.is_empty() {
            message.push_str("; the most expensive are ");
            message.push_str(&listed.join(", "));
        }
        self.report.problems.push(Problem {
            path: Vec::new(),
            rule: None,
            field: Field::Schema,
            message,
            position: None,
        });
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn has_rules(schema: &Schema<'_>) -> bool {
    !schema.rules.is_empty()
        || schema.properties.iter().any(|(_, property)| has_rules(property))
        || schema.items.as_deref().is_some_and(has_rules)
        || schema.value_schema().is_some_and(has_rules)
}
