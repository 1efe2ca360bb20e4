//! The type of a rule.

use crate::model::Object;
use crate::model::crd::Keywords;
use crate::report::rules::RuleText;
use crate::report::{Impact, Severity, Source, Suite};

use super::context::{Context, Csv};
use super::crds::{Crd, SchemaNode};
use super::expressions::ValidSchema;
use super::kubernetes::Errors;
use super::metadata::Metadata;
use super::objects::Known;
use super::reporter::Reporter;
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
