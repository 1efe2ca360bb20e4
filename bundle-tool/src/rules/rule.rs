//! What a rule is, and how it reports.

use crate::model::crd::{Keyword, Keywords};
use crate::model::yaml::{Path, Position};
use crate::model::{File, Object};
use crate::report::rules::RuleText;
use crate::report::{Finding, Severity, Suite};

use super::context::{Context, Csv};
use super::crds::{Crd, SchemaNode};
use super::expressions::ValidSchema;
use super::kubernetes::Errors;
use super::metadata::Metadata;
use super::objects::Known;
use super::webhook::Webhook;
use super::workload::{Deployment, PodTemplate};

/// One defect that is looked for: its name, its documentation and its check.
///
/// The texts are what `bundle-tool explain` and `docs/rules.md` show.
#[derive(Debug)]
pub struct Rule {
    /// The name, after the defect: `owned-crd-missing`. Never changed without an alias.
    pub id: &'static str,
    /// The suite that switches it on.
    pub suite: Suite,
    /// How bad a finding is.
    pub severity: Severity,
    /// What the rule looks for, in one or two sentences.
    pub what: &'static str,
    /// Who refuses it, or what goes wrong.
    pub why: &'static str,
    /// What to do, in one sentence; every finding carries it.
    pub help: &'static str,
    /// Where the rule comes from: a file or page of Kubernetes or OLM, by name.
    pub source: &'static str,
    /// The check.
    pub check: Check,
}

impl Rule {
    /// The rule's documentation.
    #[must_use]
    pub fn text(&self) -> RuleText {
        RuleText {
            id: self.id,
            suite: self.suite,
            severity: self.severity,
            what: self.what,
            why: self.why,
            help: self.help,
            source: self.source,
        }
    }
}

/// What a rule wants to be called with.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// The whole bundle, once.
    Bundle(fn(&Context<'_>, &mut Reporter<'_>)),
    /// Every object in `manifests/`, the CSV and CRDs among them.
    Object(fn(&Object<'_>, &mut Reporter<'_>)),
    /// Every `ClusterServiceVersion` that OLM could decode.
    Csv(fn(&Csv<'_>, &mut Reporter<'_>)),
    /// Every `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
    Crd(fn(&Crd<'_>, &mut Reporter<'_>)),
    /// Every schema of a CRD that has one of the keywords.
    Schema(Keywords, fn(&SchemaNode<'_, '_>, &mut Reporter<'_>)),
    /// Every version's schema of a CRD, once no other rule has found an error in it.
    ValidSchema(fn(&ValidSchema<'_, '_>, &mut Reporter<'_>)),
    /// Every Deployment of the install strategy.
    Deployment(fn(&Deployment<'_>, &mut Errors<'_, '_>)),
    /// The pods of every Deployment of the install strategy.
    PodTemplate(fn(&PodTemplate<'_>, &mut Errors<'_, '_>)),
    /// Every webhook of the CSV.
    Webhook(fn(&Webhook<'_>, &mut Errors<'_, '_>)),
    /// Every object of one of Kubernetes' own kinds that could be decoded.
    Known(fn(&Known<'_>, &mut Errors<'_, '_>)),
    /// The metadata of every object.
    Metadata(fn(&Metadata<'_>, &mut Errors<'_, '_>)),
}

/// Takes the findings of one rule.
#[derive(Debug)]
pub struct Reporter<'r> {
    rule: &'static Rule,
    findings: &'r mut Vec<Finding>,
    /// How many more findings are taken: whoever has three hundred does not read the next one, and finding the places of
    /// a hundred thousand takes long.
    left: usize,
}

/// How many findings of one rule in one object are worth reporting.
pub(super) const MAX_FINDINGS: usize = 300;

impl<'r> Reporter<'r> {
    /// A reporter for `rule` that adds to `findings`.
    pub fn new(rule: &'static Rule, findings: &'r mut Vec<Finding>) -> Self {
        Self { rule, findings, left: MAX_FINDINGS }
    }

    /// Something is wrong with the bundle as a whole.
    pub fn bundle(&mut self, message: impl Into<String>) {
        self.push(None, None, None, message.into());
    }

    /// Something is wrong with a file or folder, named by its path below the bundle.
    pub fn path(&mut self, path: &str, message: impl Into<String>) {
        self.push(Some(path.to_owned()), None, None, message.into());
    }

    /// Something is wrong at a place of a file.
    pub fn place(&mut self, file: &File, position: Position, message: impl Into<String>) {
        self.push(Some(file.path.clone()), Some(position), None, message.into());
    }

    /// Something is wrong with a field of an object; the place is that of the field, or of its nearest ancestor.
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

    /// Something is wrong with a keyword of a schema.
    pub fn keyword(&mut self, node: &SchemaNode<'_, '_>, keyword: Keyword, message: impl Into<String>) {
        self.field(&node.crd.object, &node.path.field(keyword.name()), message);
    }

    /// Something is wrong with a field whose path and place are known already.
    pub fn at(&mut self, file: &File, path: &str, position: Position, message: impl Into<String>) {
        self.push(Some(file.path.clone()), Some(position), Some(path.to_owned()), message.into());
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
