//! The type of a rule, and the reporter that takes its findings.

use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::{Path, Position, Unknown};
use crate::model::{File, Object};
use crate::report::rules::RuleText;
use crate::report::suggest::did_you_mean;
use crate::report::{Finding, Impact, Severity, Source, Suite};

use super::context::{Context, Csv};
use super::crds::{Crd, SchemaNode};
use super::expressions::ValidSchema;
use super::kubernetes::Errors;
use super::metadata::Metadata;
use super::objects::Known;
use super::webhook::Webhook;
use super::workload::{Deployment, PodTemplate};

/// One rule: its id, its documentation and its check.
///
/// `bundle-tool explain` and `docs/rules.md` print the documentation.
#[derive(Debug)]
pub struct Rule {
    /// The id, named after the defect: `owned-crd-missing`. Never changed without an alias.
    pub id: &'static str,
    /// The suite that enables the rule.
    pub suite: Suite,
    /// The severity of its findings.
    pub severity: Severity,
    /// What the rule looks for, in one or two sentences.
    pub what: &'static str,
    /// What happens to a bundle that breaks the rule, the most important impact first.
    pub impacts: &'static [Impact],
    /// An instruction that fixes a finding; every finding carries it.
    pub help: &'static str,
    /// The upstream code that the rule reproduces.
    pub sources: &'static [Source],
    /// The check.
    pub check: Check,
}

impl Rule {
    /// Returns the rule's documentation.
    #[must_use]
    pub fn text(&self) -> RuleText {
        let why: Vec<_> = self.impacts.iter().map(Impact::to_string).collect();
        let mut rejected_by = Vec::new();
        for validator in self.impacts.iter().filter_map(|impact| impact.rejected_by()) {
            if !rejected_by.contains(&validator) {
                rejected_by.push(validator);
            }
        }
        RuleText {
            id: self.id,
            suite: self.suite,
            severity: self.severity,
            what: self.what,
            why: why.join(" "),
            rejected_by,
            help: self.help,
            sources: self.sources,
        }
    }
}

/// What a rule validates.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// The whole bundle, once.
    Bundle(fn(&Context<'_>, &mut Reporter<'_>)),
    /// Every object in `manifests/`, the CSV and CRDs among them.
    Object(fn(&Object<'_>, &mut Reporter<'_>)),
    /// Every `ClusterServiceVersion` that OLM can decode.
    Csv(fn(&Csv<'_>, &mut Reporter<'_>)),
    /// Every `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
    Crd(fn(&Crd<'_>, &mut Reporter<'_>)),
    /// Every schema of a CRD that has one of these keywords.
    Schema(Keywords, fn(&SchemaNode<'_, '_>, &mut Reporter<'_>)),
    /// The schema of every version of a CRD in which no other rule has found an error.
    ValidSchema(fn(&ValidSchema<'_, '_>, &mut Reporter<'_>)),
    /// Every Deployment of the install strategy.
    Deployment(fn(&Deployment<'_>, &mut Errors<'_, '_>)),
    /// The pods of every Deployment of the install strategy.
    PodTemplate(fn(&PodTemplate<'_>, &mut Errors<'_, '_>)),
    /// Every webhook of the CSV.
    Webhook(fn(&Webhook<'_>, &mut Errors<'_, '_>)),
    /// Every object of a kind built into Kubernetes that can be decoded.
    Known(fn(&Known<'_>, &mut Errors<'_, '_>)),
    /// The metadata of every object.
    Metadata(fn(&Metadata<'_>, &mut Errors<'_, '_>)),
}

/// Records the findings of one rule.
#[derive(Debug)]
pub struct Reporter<'r> {
    rule: &'static Rule,
    findings: &'r mut Vec<Finding>,
    /// How many more findings are recorded.
    left: usize,
}

/// Returns the message for a field that its type does not declare.
pub(super) fn unknown_field(field: &Unknown) -> String {
    let near = did_you_mean(&field.name, field.declared.iter().copied());
    format!("unknown field `{}`{near}", field.name)
}

/// Maximum number of findings of one rule in one object: locating more takes long, and nobody reads them.
pub(super) const MAX_FINDINGS: usize = 300;

impl<'r> Reporter<'r> {
    /// Creates a reporter for `rule` that adds to `findings`.
    pub fn new(rule: &'static Rule, findings: &'r mut Vec<Finding>) -> Self {
        Self { rule, findings, left: MAX_FINDINGS }
    }

    /// Reports a finding about the bundle as a whole.
    pub fn bundle(&mut self, message: impl Into<String>) {
        self.push(None, None, None, message.into());
    }

    /// Reports a finding about a file or directory, by its path below the bundle.
    pub fn path(&mut self, path: &str, message: impl Into<String>) {
        self.push(Some(path.to_owned()), None, None, message.into());
    }

    /// Reports a finding at a position in a file.
    pub fn place(&mut self, file: &File, position: Position, message: impl Into<String>) {
        self.push(Some(file.path.clone()), Some(position), None, message.into());
    }

    /// Reports a finding about a field of an object, at the position of the field or of its nearest ancestor.
    pub fn field(&mut self, object: &Object<'_>, path: &Path<'_>, message: impl Into<String>) {
        if self.left == 0 {
            return;
        }
        self.push(
            Some(object.file.path.clone()),
            Some(object.locate(path)),
            Some(path.to_string()).filter(|path| !path.is_empty()),
            message.into(),
        );
    }

    /// Reports a finding about a keyword of a schema.
    pub fn keyword(&mut self, node: &SchemaNode<'_, '_>, keyword: Keyword, message: impl Into<String>) {
        self.field(&node.crd.object, &node.path.field(keyword.name()), message);
    }

    /// Reports a finding about a field whose path and position are known.
    pub fn at(&mut self, file: &File, path: &str, position: Position, message: impl Into<String>) {
        self.push(Some(file.path.clone()), Some(position), Some(path.to_owned()), message.into());
    }

    /// Returns whether the limit is reached; further findings are dropped.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    fn push(
        &mut self,
        file: Option<String>,
        position: Option<Position>,
        path: Option<String>,
        message: String,
    ) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        self.findings.push(Finding {
            rule: self.rule.id,
            suite: self.rule.suite,
            severity: self.rule.severity,
            message,
            help: self.rule.help,
            file,
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            path,
        });
    }
}
