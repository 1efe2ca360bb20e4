//! The walk through the schemas of CRDs: each is read once, and only the rules for its keywords are run.

use rayon::prelude::*;

use super::behavior;
use super::inputs::{Crd, SchemaNode, SchemaRole, StructuralPosition, ValidSchema};
use super::reporter::{Findings, Reporter, RuleMeta};
use super::rule::{Check, Rule};
use kube_yaml::{Kind, Path, Value};
use kubernetes_cel::Server;
use olm_model::crd::{Additional, Keyword, Keywords, Schema};
use olm_model::kubernetes::Versions;
use olm_model::report::{Severity, Suite};

/// Validates CRDs, in parallel if requested, against the rules for CRDs and schemas.
pub(crate) fn validate(
    crds: &[Crd<'_>],
    rules: &[&'static Rule],
    versions: Versions,
    parallel: bool,
) -> Findings {
    let of_crd = |crd: &Crd<'_>| behavior::for_each(versions, |server| validate_crd(crd, rules, server));
    let merged = |mut all: Findings, more| {
        all.merge(more);
        all
    };
    if parallel {
        crds.par_iter().map(of_crd).reduce(Findings::default, merged)
    } else {
        crds.iter().map(of_crd).fold(Findings::default(), merged)
    }
}

fn validate_crd(crd: &Crd<'_>, rules: &[&'static Rule], server: &Server) -> Findings {
    crd.work_budget.renew();
    let mut findings = Findings::default();
    for &rule in rules {
        if let Check::Crd(check) = rule.check {
            check(crd, &mut Reporter::new(rule.head(), &mut findings, server));
        }
    }
    let schema_rules = schema_rules(rules);
    let mut first_is_valid = None;
    for index in 0..crd.versions.len() {
        let mut walk =
            Walk { rules: &schema_rules, server, findings: Findings::default(), seen: Keywords::default() };
        walk.version(crd, index, rules);
        let mut found = walk.findings;
        let is_valid = !found.has_error();
        // If all versions have the same schema, the API server validates only the first one's.
        if !is_valid && first_is_valid == Some(true) && crd.has_one_schema() {
            found.retain(|rule| !is_error(rule) || is_unreadable(rule));
        }
        first_is_valid.get_or_insert(is_valid);
        findings.merge(found);
    }
    // A CRD that cannot be decoded is not validated further: errors that follow from it would mislead.
    if findings.any(is_unreadable) {
        findings.retain(|rule| !is_error(rule) || is_unreadable(rule));
    }
    findings
}

fn is_error(rule: &RuleMeta) -> bool {
    rule.severity == Severity::Error && rule.suite == Suite::Bundle
}

fn is_unreadable(rule: &RuleMeta) -> bool {
    matches!(rule.id, "crd-field-type" | "schema-keyword-type")
}

type SchemaRule = (Keywords, fn(&SchemaNode<'_, '_>, &mut Reporter<'_>), &'static Rule);

fn schema_rules(rules: &[&'static Rule]) -> Vec<SchemaRule> {
    rules
        .iter()
        .filter_map(|&rule| match rule.check {
            Check::Schema(keywords, check) => Some((keywords, check, rule)),
            _ => None,
        })
        .collect()
}

struct Walk<'w> {
    rules: &'w [SchemaRule],
    server: &'w Server,
    findings: Findings,
    seen: Keywords,
}

/// The keywords whose values contain schemas.
const HOLDERS: Keywords = Keywords::new(&[
    Keyword::Properties,
    Keyword::Items,
    Keyword::AdditionalProperties,
    Keyword::AllOf,
    Keyword::AnyOf,
    Keyword::OneOf,
    Keyword::Not,
    Keyword::PatternProperties,
    Keyword::Definitions,
    Keyword::Dependencies,
    Keyword::AdditionalItems,
]);

/// The rare ones among them.
const RARE: Keywords =
    HOLDERS.without(Keywords::new(&[Keyword::Properties, Keyword::Items, Keyword::AdditionalProperties]));

impl Walk<'_> {
    fn version(&mut self, crd: &Crd<'_>, index: usize, rules: &[&'static Rule]) {
        let Some(value) = crd.versions[index].schema.filter(|schema| schema.kind() == Kind::Object) else {
            return;
        };
        let versions = Path::ROOT.field("spec.versions");
        let item = versions.index(index);
        let path = item.field("schema.openAPIV3Schema");
        self.schema(&SchemaNode {
            crd,
            version: index,
            path,
            schema: &Schema::read(value),
            parent: None,
            role: SchemaRole::Root,
            place: StructuralPosition::Skeleton,
            name: "",
            in_meta: false,
            no_default: None,
            below_additional: false,
        });
        if self.findings.has_error() {
            return;
        }
        let valid = ValidSchema::new(crd, path, value, self.seen, self.server);
        for &rule in rules {
            if let Check::ValidSchema(check) = rule.check {
                check(&valid, &mut Reporter::new(rule.head(), &mut self.findings, self.server));
            }
        }
    }

    fn schema(&mut self, node: &SchemaNode<'_, '_>) {
        let present = node.schema.present();
        self.seen.insert(present);
        for &(keywords, check, rule) in self.rules {
            if present.meets(keywords)
                && (node.place != StructuralPosition::Forbidden || keywords.meets(Keywords::MISTYPED))
            {
                check(node, &mut Reporter::new(rule.head(), &mut self.findings, self.server));
            }
        }
        if present.meets(HOLDERS) {
            self.below(node);
        }
    }

    fn below(&mut self, node: &SchemaNode<'_, '_>) {
        let schema = node.schema;
        if schema.has(Keyword::Properties) {
            let properties = node.path.field("properties");
            let is_resource = node.is_resource();
            for (key, value) in schema.properties() {
                let name = key.text();
                let schema = Schema::read(value);
                let mut child = node.child(&schema, properties.key(name), SchemaRole::Property);
                child.name = name;
                if is_resource && matches!(name, "apiVersion" | "kind" | "metadata") {
                    child.in_meta = true;
                    if node.role == SchemaRole::Root {
                        child.no_default =
                            Some("in `apiVersion`, `kind` or `metadata` of the resource itself");
                    }
                }
                self.schema(&child);
            }
        }
        if let Some(items) = schema.get(Keyword::Items) {
            let path = node.path.field("items");
            if items.kind() == Kind::Array {
                // A list of schemas is rejected by a rule of its own.
                for (index, value) in items.items().enumerate() {
                    self.forbidden(node, value, path.index(index));
                }
            } else if items.kind() == Kind::Object {
                self.schema(&node.child(&Schema::read(items), path, SchemaRole::Items));
            }
        }
        if let Additional::Schema(value) = schema.additional() {
            let path = node.path.field("additionalProperties");
            self.schema(&node.child(&Schema::read(value), path, SchemaRole::Additional));
        }
        if schema.present().meets(RARE) {
            self.rare(node);
        }
    }

    fn rare(&mut self, node: &SchemaNode<'_, '_>) {
        for keyword in [Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf] {
            let path = node.path.field(keyword.name());
            for (index, value) in node.schema.list(keyword).enumerate() {
                let role = match (keyword, index) {
                    (Keyword::AnyOf, _) => SchemaRole::AnyOf,
                    (Keyword::AllOf, 0) => SchemaRole::FirstOfAll,
                    _ => SchemaRole::Other,
                };
                self.schema(&node.child(&Schema::read(value), path.index(index), role));
            }
        }
        if let Some(value) = node.schema.get(Keyword::Not) {
            self.schema(&node.child(&Schema::read(value), node.path.field("not"), SchemaRole::Other));
        }
        for keyword in [Keyword::PatternProperties, Keyword::Definitions, Keyword::Dependencies] {
            let path = node.path.field(keyword.name());
            let Some(map) = node.schema.get(keyword) else { continue };
            for (key, value) in map.unique_entries().filter(|(_, value)| value.kind() == Kind::Object) {
                self.forbidden(node, value, path.key(key.text()));
            }
        }
        if let Some(value) = node.schema.get(Keyword::AdditionalItems)
            && value.kind() == Kind::Object
        {
            self.forbidden(node, value, node.path.field("additionalItems"));
        }
    }

    fn forbidden<'b>(&mut self, node: &SchemaNode<'_, 'b>, value: Value<'b>, path: Path<'_>) {
        let schema = Schema::read(value);
        let mut child = node.child(&schema, path, SchemaRole::Other);
        child.place = StructuralPosition::Forbidden;
        self.schema(&child);
    }
}
