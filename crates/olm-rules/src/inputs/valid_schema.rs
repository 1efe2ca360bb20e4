//! A CRD's schema with CEL rules, and what [`kubernetes_cel`] finds in it.

use std::cell::OnceCell;

use super::crd::Crd;
use kube_yaml::{Path, Value};
use kubernetes_cel::{BrokenRule, Report, Server};
use olm_model::crd::{Additional, Items, Keyword, Keywords, Schema};

/// The schema of a version in which the walk has found no error.
#[derive(Debug)]
pub(crate) struct ValidSchema<'n, 'b> {
    /// The CRD.
    pub(crate) crd: &'n Crd<'b>,
    /// The path of the schema in the object.
    pub(crate) path: Path<'n>,
    root: Value<'b>,
    keywords: Keywords,
    server: &'n Server,
    schema: OnceCell<kubernetes_cel::Schema<'b>>,
    report: OnceCell<Report>,
}

impl<'n, 'b> ValidSchema<'n, 'b> {
    pub(crate) fn new(
        crd: &'n Crd<'b>,
        path: Path<'n>,
        root: Value<'b>,
        keywords: Keywords,
        server: &'n Server,
    ) -> Self {
        Self { crd, path, root, keywords, server, schema: OnceCell::new(), report: OnceCell::new() }
    }

    /// The schema as the checker reads it.
    fn schema(&self) -> &kubernetes_cel::Schema<'b> {
        self.schema.get_or_init(|| cel_schema(self.root))
    }

    /// Returns the problems of the schema's CEL rules, if it has rules.
    #[must_use]
    pub(crate) fn rule_problems(&self) -> Option<&Report> {
        let has_rules = self.keywords.meets(Keywords::new(&[Keyword::XValidations]));
        has_rules
            .then(|| self.report.get_or_init(|| kubernetes_cel::check_schema(self.schema(), self.server)))
    }

    /// Calls `visit` with the path of every default that breaks a CEL rule of its schema.
    pub(crate) fn each_broken_default(&self, visit: &mut dyn FnMut(&Path<'_>, &BrokenRule)) {
        if !self.keywords.meets(Keywords::new(&[Keyword::XValidations]))
            || !self.keywords.meets(Keywords::new(&[Keyword::Default]))
        {
            return;
        }
        let schema = self.schema();
        self.crd
            .work_budget
            .with_budget(|budget| defaults(self.root, schema, true, &self.path, budget, visit));
    }
}

/// Converts the schema of a version for the checker of CEL rules.
#[must_use]
pub(crate) fn cel_schema(root: Value<'_>) -> kubernetes_cel::Schema<'_> {
    read(root, false).0
}

/// Calls `visit` with every default of the schema, and of those within it, that breaks a rule; `is_root` is set for the
/// schema of the whole resource, whose own default is skipped.
fn defaults(
    value: Value<'_>,
    schema: &kubernetes_cel::Schema<'_>,
    is_root: bool,
    path: &Path<'_>,
    budget: &mut kubernetes_cel::Budget,
    visit: &mut dyn FnMut(&Path<'_>, &BrokenRule),
) {
    let here = Schema::read(value);
    if let Some(default) = here.get(Keyword::Default)
        && !(is_root || schema.embedded_resource)
        && let Some(broken) = kubernetes_cel::broken_rule(schema, &default.to_json(), budget)
    {
        visit(&path.field(Keyword::Default.name()), &broken);
    }
    if let (Items::Schema(items), Some(schema)) = (here.items(), &schema.items) {
        defaults(items, schema, false, &path.field("items"), budget, visit);
    }
    let properties = path.field("properties");
    for (name, schema) in &schema.properties {
        if let Some(property) = here.property(name) {
            defaults(property, schema, false, &properties.key(name), budget, visit);
        }
    }
}

/// Converts a schema for the checker, and returns whether it contains a rule. Schemas neither below nor above a rule are
/// skipped.
fn read(value: Value<'_>, below_rule: bool) -> (kubernetes_cel::Schema<'_>, bool) {
    let schema = Schema::read(value);
    let mut read = kubernetes_cel::Schema {
        kind: schema.kind(),
        format: schema.string(Keyword::Format),
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
        Additional::Unset => kubernetes_cel::AdditionalProperties::Unset,
        Additional::Boolean(any) => kubernetes_cel::AdditionalProperties::Bool(any),
        Additional::Schema(values) => child(values)
            .map_or(kubernetes_cel::AdditionalProperties::Bool(true), |values| {
                kubernetes_cel::AdditionalProperties::Schema(Box::new(values))
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
