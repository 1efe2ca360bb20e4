//! CRDs as their rules see them, and the walk through their schemas: each schema is read once, and asked of only the
//! rules that have to do with one of its keywords.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::expressions::SoundSchema;
use super::rule::{Check, MOST_FINDINGS, Reporter, Rule};
use super::same;
use crate::model::Object;
use crate::model::crd::{Additional, Keyword, Keywords, Schema};
use crate::model::yaml::{Kind, Path, Value};
use crate::report::{Finding, Severity};

/// A `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
#[derive(Debug, Clone)]
pub struct Crd<'b> {
    /// The object.
    pub object: Object<'b>,
    /// `spec`; null where it is missing.
    pub spec: Value<'b>,
    /// `spec.versions`.
    pub versions: Vec<Version<'b>>,
    one_schema: OnceLock<bool>,
}

/// One of a CRD's versions.
#[derive(Debug, Clone, Copy)]
pub struct Version<'b> {
    /// As it is written; null where the item is.
    pub value: Value<'b>,
    /// `schema.openAPIV3Schema`, where it is set.
    pub schema: Option<Value<'b>>,
}

impl<'b> Crd<'b> {
    /// The CRD that an object is; nothing where it is none, or of another API version.
    #[must_use]
    pub fn new(object: &Object<'b>) -> Option<Self> {
        if !object.is("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            return None;
        }
        let spec = object.root.get("spec").unwrap_or(object.root.nothing());
        let versions = spec.get("versions").into_iter().flat_map(Value::items);
        let versions = versions
            .map(|value| {
                let schema = value.dig(&["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null());
                Version { value, schema }
            })
            .collect();
        Some(Self { object: *object, spec, versions, one_schema: OnceLock::new() })
    }

    /// A string of `spec`, by the keys that lead to it; empty where it is missing.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> &'b str {
        self.spec.dig(keys).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the schema of the version `index` is judged as one whose status is a subresource: where all versions
    /// have the same schema, the API server judges it once, for all of them together.
    #[must_use]
    pub fn has_status(&self, index: usize) -> bool {
        let own = self.versions.get(index).is_some_and(Version::has_status);
        own || self.has_one_schema() && self.versions.iter().any(Version::has_status)
    }

    /// Whether all versions have the same schema, as the API server compares them.
    #[must_use]
    pub fn has_one_schema(&self) -> bool {
        *self.one_schema.get_or_init(|| self.compare_schemas())
    }

    fn compare_schemas(&self) -> bool {
        self.versions.windows(2).all(|pair| match (pair[0].schema, pair[1].schema) {
            (Some(a), Some(b)) => same::schemas(&Schema::read(a), &Schema::read(b)),
            (None, None) => true,
            _ => false,
        })
    }
}

impl<'b> Version<'b> {
    /// `name`.
    #[must_use]
    pub fn name(&self) -> &'b str {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether a field of the version is `true`.
    #[must_use]
    pub fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn has_status(&self) -> bool {
        self.value.dig(&["subresources", "status"]).is_some_and(|status| !status.is_null())
    }
}

/// Where a schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `openAPIV3Schema` itself.
    Root,
    /// One of `properties`.
    Property,
    /// `items`, or one of them.
    Items,
    /// `additionalProperties`.
    Additional,
    /// One of `anyOf`.
    AnyOf,
    /// The first of `allOf`.
    FirstOfAll,
    /// One of `oneOf`, another one of `allOf`, `not`, or below a keyword that is forbidden.
    Other,
}

/// What a schema is to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Part of the skeleton: reached from the root by `properties`, `items` and `additionalProperties`.
    Skeleton,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`: may only restrict values.
    Nested,
    /// Below a keyword that is forbidden: read, but not judged.
    Forbidden,
}

/// One schema on the walk, with what it inherits from those above it.
#[derive(Debug, Clone, Copy)]
pub struct SchemaNode<'n, 'b> {
    /// The CRD.
    pub crd: &'n Crd<'b>,
    /// Which of its versions, from zero.
    pub version: usize,
    /// Where it stands in the object.
    pub path: Path<'n>,
    /// The schema itself.
    pub schema: &'n Schema<'b>,
    /// The schema that holds it.
    pub parent: Option<&'n SchemaNode<'n, 'b>>,
    /// How the parent holds it.
    pub role: Role,
    /// What it is to the API server.
    pub place: Place,
    /// Its name, for a property.
    pub name: &'b str,
    /// Whether it describes `apiVersion`, `kind` or `metadata` of the resource or of one embedded in it, or what lies
    /// below these.
    pub in_meta: bool,
    /// Why a default would be forbidden here.
    pub no_default: Option<&'static str>,
    /// Whether it lies below `additionalProperties`, where defaults are not judged.
    pub below_additional: bool,
}

impl<'b> SchemaNode<'_, 'b> {
    /// Whether the schema is that of a whole resource: the root's, or one embedded.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        self.role == Role::Root || self.schema.flag(Keyword::XEmbeddedResource)
    }

    fn child<'c>(&'c self, schema: &'c Schema<'b>, path: Path<'c>, role: Role) -> SchemaNode<'c, 'b> {
        let mut child = SchemaNode {
            schema,
            path,
            role,
            parent: Some(self),
            name: "",
            below_additional: self.below_additional || role == Role::Additional,
            ..*self
        };
        if matches!(role, Role::AnyOf | Role::FirstOfAll | Role::Other) && self.place == Place::Skeleton {
            child.place = Place::Nested;
        }
        if role == Role::Additional && self.in_meta {
            child.no_default = Some("inside additionalProperties of an object's metadata");
        }
        child
    }
}

/// Judges CRDs side by side by the rules for CRDs and schemas.
pub(super) fn judge(crds: &[Crd<'_>], rules: &[&'static Rule]) -> Vec<Finding> {
    crds.par_iter().flat_map_iter(|crd| judge_one(crd, rules)).collect()
}

fn judge_one(crd: &Crd<'_>, rules: &[&'static Rule]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for &rule in rules {
        if let Check::Crd(check) = rule.check {
            check(crd, &mut Reporter::new(rule, &mut findings));
        }
    }
    let mut walk = Walk { rules: schema_rules(rules), findings, seen: Keywords::default() };
    let mut first_is_sound = None;
    for index in 0..crd.versions.len() {
        let before = walk.findings.len();
        walk.version(crd, index, rules);
        let is_sound = walk.findings[before..].iter().all(is_no_error);
        // Where all versions have one schema, the API server judges only the first one's.
        if !is_sound && first_is_sound == Some(true) && crd.has_one_schema() {
            let found = walk.findings.split_off(before);
            walk.findings
                .extend(found.into_iter().filter(|finding| is_no_error(finding) || is_unreadable(finding)));
        }
        first_is_sound.get_or_insert(is_sound);
    }
    let mut findings = walk.findings;
    // What cannot be read is judged no further, and what follows from it would only mislead.
    if findings.iter().any(is_unreadable) {
        findings.retain(|finding| is_unreadable(finding) || is_no_error(finding));
    }
    findings
}

fn is_no_error(finding: &Finding) -> bool {
    finding.severity != Severity::Error
}

fn is_unreadable(finding: &Finding) -> bool {
    matches!(finding.rule, "crd-field-type" | "schema-keyword-type")
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

struct Walk {
    rules: Vec<SchemaRule>,
    findings: Vec<Finding>,
    seen: Keywords,
}

/// The keywords that hold schemas.
const HOLDERS: Keywords = Keywords::of(&[
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

/// Those of them that are rare.
const RARE: Keywords =
    HOLDERS.without(Keywords::of(&[Keyword::Properties, Keyword::Items, Keyword::AdditionalProperties]));

impl Walk {
    fn version(&mut self, crd: &Crd<'_>, index: usize, rules: &[&'static Rule]) {
        let Some(value) = crd.versions[index].schema.filter(|schema| schema.kind() == Kind::Object) else {
            return;
        };
        let versions = Path::ROOT.field("spec.versions");
        let item = versions.index(index);
        let path = item.field("schema.openAPIV3Schema");
        let before = self.findings.len();
        self.seen = Keywords::default();
        self.schema(&SchemaNode {
            crd,
            version: index,
            path,
            schema: &Schema::read(value),
            parent: None,
            role: Role::Root,
            place: Place::Skeleton,
            name: "",
            in_meta: false,
            no_default: None,
            below_additional: false,
        });
        if !self.findings[before..].iter().all(is_no_error) {
            return;
        }
        let sound = SoundSchema::new(crd, path, value, self.seen);
        for &rule in rules {
            if let Check::SoundSchema(check) = rule.check {
                check(&sound, &mut Reporter::new(rule, &mut self.findings));
            }
        }
    }

    fn schema(&mut self, node: &SchemaNode<'_, '_>) {
        if self.findings.len() > MOST_FINDINGS {
            return;
        }
        let present = node.schema.present();
        self.seen.insert(present);
        for &(keywords, check, rule) in &self.rules {
            if present.meets(keywords)
                && (node.place != Place::Forbidden || keywords.meets(Keywords::MISTYPED))
            {
                check(node, &mut Reporter::new(rule, &mut self.findings));
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
                let mut child = node.child(&schema, properties.key(name), Role::Property);
                child.name = name;
                if is_resource && matches!(name, "apiVersion" | "kind" | "metadata") {
                    child.in_meta = true;
                    if node.role == Role::Root {
                        child.no_default = Some("in apiVersion, kind and metadata of the resource itself");
                    }
                }
                self.schema(&child);
            }
        }
        if let Some(items) = schema.get(Keyword::Items) {
            let path = node.path.field("items");
            if items.kind() == Kind::Array {
                // A list of schemas is refused as such.
                for (index, value) in items.items().enumerate() {
                    self.forbidden(node, value, path.index(index));
                }
            } else if items.kind() == Kind::Object {
                self.schema(&node.child(&Schema::read(items), path, Role::Items));
            }
        }
        if let Additional::Schema(value) = schema.additional() {
            let path = node.path.field("additionalProperties");
            self.schema(&node.child(&Schema::read(value), path, Role::Additional));
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
                    (Keyword::AnyOf, _) => Role::AnyOf,
                    (Keyword::AllOf, 0) => Role::FirstOfAll,
                    _ => Role::Other,
                };
                self.schema(&node.child(&Schema::read(value), path.index(index), role));
            }
        }
        if let Some(value) = node.schema.get(Keyword::Not) {
            self.schema(&node.child(&Schema::read(value), node.path.field("not"), Role::Other));
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
        let mut child = node.child(&schema, path, Role::Other);
        child.place = Place::Forbidden;
        self.schema(&child);
    }
}
