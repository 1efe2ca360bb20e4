//! Conversion from a CRD's schema to the input of [`kubernetes_cel`], and from its problems to positions in the file.

use std::cell::OnceCell;

use super::crds::Crd;
use super::reporter::Reporter;
use crate::model::crd::{Additional, Items, Keyword, Keywords, Schema};
use crate::model::yaml::{Path, Value};
use kubernetes_cel::{Field, Problem, Step};

/// The schema of a version in which the walk has found no error.
#[derive(Debug)]
pub struct ValidSchema<'n, 'b> {
    /// The CRD.
    pub crd: &'n Crd<'b>,
    /// The path of the schema in the object.
    pub path: Path<'n>,
    root: Value<'b>,
    keywords: Keywords,
    schema: OnceCell<kubernetes_cel::Schema<'b>>,
    report: OnceCell<kubernetes_cel::Report>,
}

impl<'n, 'b> ValidSchema<'n, 'b> {
    pub(super) fn new(crd: &'n Crd<'b>, path: Path<'n>, root: Value<'b>, keywords: Keywords) -> Self {
        Self { crd, path, root, keywords, schema: OnceCell::new(), report: OnceCell::new() }
    }

    /// The schema as the checker reads it.
    fn schema(&self) -> &kubernetes_cel::Schema<'b> {
        self.schema.get_or_init(|| read(self.root, false).0)
    }

    /// Reports the defaults that break a rule of their schema.
    pub fn report_defaults(&self, reporter: &mut Reporter<'_>) {
        if !self.keywords.meets(Keywords::of(&[Keyword::XValidations]))
            || !self.keywords.meets(Keywords::of(&[Keyword::Default]))
        {
            return;
        }
        let schema = self.schema();
        self.crd.effort.with_budget(|budget| {
            defaults(self.root, schema, true, &self.path, budget, &mut |path, broken| {
                reporter.field(&self.crd.object, path, broken_message(broken));
            });
        });
    }

    /// Reports the problems of the schema's rules that `wanted` selects.
    pub fn report_rules(&self, reporter: &mut Reporter<'_>, wanted: impl Fn(&Problem) -> bool) {
        if !self.keywords.meets(Keywords::of(&[Keyword::XValidations])) {
            return;
        }
        let report = self.report.get_or_init(|| kubernetes_cel::check_schema(self.schema()));
        for problem in report.problems.iter().filter(|problem| wanted(problem)) {
            let message = match problem.place {
                Some((line, column)) => {
                    format!("{} (line {line}, column {column} of the expression)", problem.message)
                }
                None => problem.message.clone(),
            };
            at(&self.path, &problem.path, &mut |schema| {
                let rules = schema.field(Keyword::XValidations.name());
                match (problem.rule, problem.field) {
                    (Some(index), Field::Schema) => {
                        reporter.field(&self.crd.object, &rules.index(index), message.as_str());
                    }
                    (Some(index), field) => {
                        let rule = rules.index(index);
                        reporter.field(&self.crd.object, &rule.field(field.name()), message.as_str());
                    }
                    (None, _) => reporter.field(&self.crd.object, schema, message.as_str()),
                }
            });
        }
    }
}

/// Returns the message about a rule that a default breaks.
fn broken_message(broken: &kubernetes_cel::Broken) -> String {
    let place = kubernetes_cel::path_text(&broken.path);
    let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
    let number = broken.rule + 1;
    match broken.error {
        None => format!("the default breaks rule {number} of `x-kubernetes-validations`{place}"),
        Some(error) => {
            format!(
                "failed to evaluate rule {number} of `x-kubernetes-validations`{place} for the default: {error}"
            )
        }
    }
}

/// Calls `report` with every default of the schema, and of those within it, that breaks a rule; `is_root` says that the
/// schema is the whole resource's, whose own default is left out.
fn defaults(
    value: Value<'_>,
    schema: &kubernetes_cel::Schema<'_>,
    is_root: bool,
    path: &Path<'_>,
    budget: &mut kubernetes_cel::Budget,
    report: &mut dyn FnMut(&Path<'_>, &kubernetes_cel::Broken),
) {
    let here = Schema::read(value);
    if let Some(default) = here.get(Keyword::Default)
        && !(is_root || schema.embedded_resource)
        && let Some(broken) = kubernetes_cel::broken_rule(schema, &default.to_json(), budget)
    {
        report(&path.field(Keyword::Default.name()), &broken);
    }
    if let (Items::Schema(items), Some(schema)) = (here.items(), &schema.items) {
        defaults(items, schema, false, &path.field("items"), budget, report);
    }
    let properties = path.field("properties");
    for (name, schema) in &schema.properties {
        if let Some(property) = here.property(name) {
            defaults(property, schema, false, &properties.key(name), budget, report);
        }
    }
}

/// Calls `then` with the path that `steps` lead to.
fn at(path: &Path<'_>, steps: &[Step], then: &mut dyn FnMut(&Path<'_>)) {
    let Some((first, rest)) = steps.split_first() else { return then(path) };
    match first {
        Step::Property(name) => {
            let properties = path.field("properties");
            at(&properties.key(name), rest, then);
        }
        Step::Items => at(&path.field("items"), rest, then),
        Step::AdditionalProperties => at(&path.field("additionalProperties"), rest, then),
    }
}

/// Converts a schema for the checker, and returns whether it contains a rule. Schemas neither below nor above a rule are
/// skipped.
fn read(value: Value<'_>, below_rule: bool) -> (kubernetes_cel::Schema<'_>, bool) {
    let schema = Schema::read(value);
    let mut read = kubernetes_cel::Schema {
        kind: schema.kind(),
        format: schema.text(Keyword::Format),
        int_or_string: schema.flag(Keyword::XIntOrString),
        embedded_resource: schema.flag(Keyword::XEmbeddedResource),
        list_type: schema.get(Keyword::XListType).and_then(Value::as_str),
        required: schema.list(Keyword::Required).map(Value::text).collect(),
        values: schema.list(Keyword::Enum).map(Value::as_str).collect(),
        has_default: schema.has(Keyword::Default),
        max_length: schema.integer(Keyword::MaxLength),
        max_items: schema.integer(Keyword::MaxItems),
        max_properties: schema.integer(Keyword::MaxProperties),
        rules: schema.list(Keyword::XValidations).map(rule).collect(),
        ..kubernetes_cel::Schema::default()
    };
    let mut has_rules = !read.rules.is_empty();
    let below_rule = below_rule || has_rules;
    let mut child = |value| {
        let (schema, has) = self::read(value, below_rule);
        has_rules |= has;
        (below_rule || has).then_some(schema)
    };
    if let Items::Schema(items) = schema.items() {
        read.items = child(items).map(Box::new);
    }
    for (key, property) in schema.properties() {
        read.properties.extend(child(property).map(|property| (key.text(), property)));
    }
    read.additional_properties = match schema.additional() {
        Additional::Unset => kubernetes_cel::Additional::Unset,
        Additional::Boolean(any) => kubernetes_cel::Additional::Bool(any),
        Additional::Schema(values) => child(values)
            .map_or(kubernetes_cel::Additional::Bool(true), |values| {
                kubernetes_cel::Additional::Schema(Box::new(values))
            }),
    };
    (read, has_rules)
}

fn rule(rule: Value<'_>) -> kubernetes_cel::Rule<'_> {
    let text = |field: &str| rule.get(field).and_then(Value::as_str);
    kubernetes_cel::Rule {
        rule: text("rule").unwrap_or_default(),
        message: text("message").unwrap_or_default(),
        message_expression: text("messageExpression").unwrap_or_default(),
        reason: text("reason"),
        field_path: text("fieldPath").unwrap_or_default(),
        optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
    }
}
