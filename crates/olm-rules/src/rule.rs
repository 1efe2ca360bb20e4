//! The type of a rule.

use kube_yaml::Position;
use olm_model::crd::Keywords;
use olm_model::report::rules::RuleText;
use olm_model::report::{Finding, Impact, Severity, Source, Suite, Validator};
use olm_model::{Object, PullRequest};

use super::errors::ErrorReporter;
use super::examples;
use super::inputs::{
    BuiltinObject, Context, Crd, Csv, Deployment, Metadata, PodTemplate, SchemaNode, ValidSchema, Webhook,
};
use super::reporter::{self, Reporter, RuleMeta};

/// The rules about input that could not be read: nothing else looks at it, so that they cannot be ignored.
pub const UNREAD_INPUT: [&str; 7] = [
    "catalog-field-invalid",
    "catalog-file-invalid",
    "catalog-key-duplicate",
    "catalog-schema-missing",
    "csv-undecodable",
    "object-undecodable",
    "yaml-syntax",
];

/// One rule: its id, its documentation and its check.
///
/// `bundle-tool explain` and the pages in `docs/rules/` print the documentation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The id, named after the defect: `owned-crd-missing`. Never changed without an alias.
    pub id: &'static str,
    /// The suite that enables the rule.
    pub suite: Suite,
    /// The severity of its findings.
    pub severity: Severity,
    /// What the rule looks for, in one or two sentences.
    pub what: &'static str,
    /// What happens to a bundle or catalog that breaks the rule, the most important impact first.
    pub impacts: &'static [Impact],
    /// An instruction that fixes a finding; every finding carries it.
    pub help: &'static str,
    /// The upstream code that the rule reproduces.
    pub sources: &'static [Source],
    /// The check.
    pub(crate) check: Check,
}

impl Rule {
    /// Returns what findings take from the rule.
    pub(crate) fn head(&self) -> RuleMeta {
        RuleMeta { id: self.id, suite: self.suite, severity: self.severity, help: self.help }
    }

    /// Returns a finding of the rule at a place of a catalog; a long message or path is shortened. `path` is the field below the
    /// document's root, empty for the document as a whole.
    #[must_use]
    pub fn finding(
        &self,
        file: &str,
        position: Option<Position>,
        path: &str,
        message: impl Into<String>,
    ) -> Finding {
        let path = Some(path.to_owned()).filter(|path| !path.is_empty());
        reporter::finding(self.head(), Some(file.to_owned()), position, path, message.into())
    }

    /// Returns whether a program or service rejects what breaks the rule.
    #[must_use]
    pub fn is_rejected_by(&self, validator: Validator) -> bool {
        self.impacts.iter().any(|impact| impact.rejected_by() == Some(validator))
    }

    /// Returns the rule's documentation.
    #[must_use]
    pub fn documentation(&self) -> RuleText {
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
            can_be_ignored: !UNREAD_INPUT.contains(&self.id),
            example: examples::find(self.id),
        }
    }
}

/// What a rule validates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// The whole bundle, once.
    Bundle(fn(&Context<'_>, &mut Reporter<'_>)),
    /// A pull request to a catalog's repository, which is no bundle.
    PullRequest(fn(&PullRequest, &mut Reporter<'_>)),
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
    Deployment(fn(&Deployment<'_>, &mut ErrorReporter<'_, '_>)),
    /// The pods of every Deployment of the install strategy.
    PodTemplate(fn(&PodTemplate<'_>, &mut ErrorReporter<'_, '_>)),
    /// Every webhook of the CSV.
    Webhook(fn(&Webhook<'_>, &mut ErrorReporter<'_, '_>)),
    /// Every object of a kind built into Kubernetes that can be decoded.
    BuiltinObject(fn(&BuiltinObject<'_>, &mut ErrorReporter<'_, '_>)),
    /// No check function: findings of the rule come from `ignores`, which runs after all other rules.
    Comments,
    /// No check function: `olm-catalog` reports findings of the rule.
    Catalog,
    /// The metadata of every object.
    Metadata(fn(&Metadata<'_>, &mut ErrorReporter<'_, '_>)),
}

/// Declares the files of a directory's rules as modules, and lists their rules as `RULES`. A file has one rule, `RULE`, or
/// is marked as a `(table)` of several, `RULES`.
///
/// `cargo fmt` does not find modules that a macro declares: `make fmt` does.
macro_rules! rule_files {
    (@rules $file:ident) => { std::slice::from_ref(&$file::RULE) };
    (@rules $file:ident table) => { &$file::RULES };
    ($($file:ident $(($table:ident))?,)+) => {
        $(mod $file;)+

        /// The files of this directory in order, and the rules in each.
        pub(crate) static RULES: &[$crate::rule::RuleFile] =
            &[$((stringify!($file), $crate::rule::rule_files!(@rules $file $($table)?)),)+];
    };
}
pub(crate) use rule_files;

/// The name of a file and its rules.
pub(crate) type RuleFile = (&'static str, &'static [Rule]);
