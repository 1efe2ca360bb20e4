//! The rules: one file each, with its id, documentation and check in one [`Rule`], in one directory for each subject,
//! whose `mod.rs` lists its files. Rules do no I/O: they read the model.
//!
//! [`validate`] runs them on a bundle. Imports go one way:
//! `subjects` (what is validated) ← `reporter`, `errors` (where findings go) ← `rule` (the type) ← `prelude` ← the rules,
//! with `kubernetes`, `openapi` and `shared` (what several of them check) ← this module (the registry).

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod affected;
mod behavior;
mod capabilities;
pub mod catalog;
mod categories;
mod community;
mod crd;
mod csv;
mod dependencies;
mod deprecated;
mod disconnected;
mod errors;
mod examples;
mod format;
mod good_practices;
mod ignore_comments;
mod ignores;
mod images;
mod inputs;
mod kubernetes;
mod metadata;
mod multiarch;
mod objects;
mod olm;
mod olmv1;
mod openapi;
mod openshift;
mod operatorhub;
mod preflight;
mod prelude;
mod profile;
mod project_settings;
mod rbac;
mod reporter;
mod rule;
pub mod scorecard;
mod shared;
pub mod support;
mod walk;
mod webhook;
mod workload;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

pub use ignores::{Comment, Ignore, IgnoreComment, comment};
pub use inputs::{Extension, Settings};
pub use kubernetes::names::{dns_label, dns_subdomain};
pub use olm_model::Level;
pub use openapi::{Crds, Outcome};
pub use profile::Profile;
pub use project_settings::{
    IgnoreEntry, InvalidSettings, LevelError, ProjectSettings, SETTINGS_FILE, UnknownSetting, check_level,
    unknown_rule,
};
pub use reporter::MAX_FINDINGS;
pub use rule::{Rule, UNREAD_INPUT};

use self::errors::ErrorReporter;
use self::inputs::{Context, Csv};
use self::reporter::{Findings, Reporter};
use self::rule::{Check, RuleFile};
use kubernetes_cel::Server;
use olm_model::report::{BundleReport, Finding, Lines, Severity, Suite};
use olm_model::{Bundle, PullRequest};

/// The directories of rules.
static DIRECTORIES: &[(&str, &[RuleFile])] = &[
    ("capabilities", capabilities::RULES),
    ("categories", categories::RULES),
    ("community", community::RULES),
    ("crd", crd::RULES),
    ("csv", csv::RULES),
    ("dependencies", dependencies::RULES),
    ("deprecated", deprecated::RULES),
    ("disconnected", disconnected::RULES),
    ("format", format::RULES),
    ("good_practices", good_practices::RULES),
    ("ignore_comments", ignore_comments::RULES),
    ("images", images::RULES),
    ("metadata", metadata::RULES),
    ("multiarch", multiarch::RULES),
    ("objects", objects::RULES),
    ("olm", olm::RULES),
    ("olmv1", olmv1::RULES),
    ("openshift", openshift::RULES),
    ("operatorhub", operatorhub::RULES),
    ("preflight", preflight::RULES),
    ("rbac", rbac::RULES),
    ("webhook", webhook::RULES),
    ("workload", workload::RULES),
];

/// Returns all rules.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let of_bundles = DIRECTORIES.iter().flat_map(|(_, files)| *files).flat_map(|(_, rules)| *rules);
    of_bundles.chain(catalog::RULES.iter().copied())
}

/// Returns the rule with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    static BY_ID: LazyLock<HashMap<&str, &Rule>> =
        LazyLock::new(|| all().map(|rule| (rule.id, rule)).collect());
    BY_ID.get(id).copied()
}

/// Which rules are run, and what their findings count as.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The enabled suites besides [`Suite::Bundle`] and [`Suite::Catalog`], which are always enabled.
    pub suites: Vec<Suite>,
    /// Levels of rules by their ids; the last one of a rule counts.
    pub levels: Vec<(String, Level)>,
    /// Whether warnings without a level are errors.
    pub deny_warnings: bool,
    /// Findings that are ignored at one place.
    pub ignores: Arc<[Ignore]>,
    /// Whether comments in the files ignore nothing.
    pub without_comments: bool,
    /// What is known about the cluster that the bundles are for.
    pub settings: Settings,
}

impl Selection {
    /// Returns whether a rule is run. That its findings are ignored makes no difference: what one rule finds decides what
    /// others are asked.
    #[must_use]
    pub fn runs(&self, rule: &Rule) -> bool {
        matches!(rule.suite, Suite::Bundle | Suite::Catalog) || self.suites.contains(&rule.suite)
    }
}

/// Documents up to this depth are validated on the stack of the caller.
const SHALLOW: usize = 64;
/// Stack size for deeper documents: enough for the 1000 levels that the reader of YAML allows.
const STACK: usize = 128 << 20;

/// Validates one bundle against all selected rules.
///
/// Documents may be nested as deep as the reader of YAML allows; those deeper than 64 levels are validated on a thread
/// with a stack that is large enough for them.
#[must_use]
pub fn validate(bundle: &Bundle, selection: &Selection) -> BundleReport {
    report(bundle, selection, affected::describe)
}

/// Validates one bundle as [`validate`] does, but the messages do not name the versions that their findings hold for.
fn validate_without_versions(bundle: &Bundle, selection: &Selection) -> BundleReport {
    report(bundle, selection, |_, _| ())
}

/// Validates one bundle against all selected rules; `describe` completes the findings.
fn report(
    bundle: &Bundle,
    selection: &Selection,
    describe: impl Fn(&Context<'_>, &mut [Finding]) + Sync,
) -> BundleReport {
    let findings = with_stack(bundle, |parallel| {
        let context = Context::new(bundle, &selection.settings);
        run(context, selection, parallel, &describe)
    });
    let findings = chosen(bundle, selection, findings);
    BundleReport {
        path: bundle.path.clone(),
        parent: bundle.parent.clone(),
        name: bundle.csv().map(|csv| csv.name().to_owned()).filter(|name| !name.is_empty()),
        package: package(bundle),
        findings,
    }
}

/// Returns the names of the images that a bundle refers to: what rules about images ask of [`Bundle::images`].
#[must_use]
pub fn image_names(bundle: &Bundle) -> BTreeSet<String> {
    with_stack(bundle, |_| {
        let csv = bundle.csv().and_then(|object| Csv::new(object).ok());
        csv.map_or_else(BTreeSet::new, |csv| shared::images::uses(&csv).into_keys().collect())
    })
}

/// Calls `run` with a stack that is large enough for the documents of a bundle, and with whether it is the caller's.
fn with_stack<T: Send>(bundle: &Bundle, run: impl Fn(bool) -> T + Sync) -> T {
    let depth = bundle.objects().map(|object| object.root.depth()).max().unwrap_or_default();
    if depth <= SHALLOW {
        return run(true);
    }
    std::thread::scope(|scope| {
        let run = || run(false);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // Without a thread, there is at least the stack that there is.
            Err(_) => run(),
        }
    })
}

fn run(
    mut context: Context<'_>,
    selection: &Selection,
    parallel: bool,
    describe: impl Fn(&Context<'_>, &mut [Finding]),
) -> Vec<Finding> {
    let rules: Vec<&'static Rule> = all().filter(|rule| selection.runs(rule)).collect();
    let versions = context.claim.evaluated();
    let mut findings = behavior::for_each(versions, |server| {
        context.prepare(server);
        of_version(&context, &rules, server)
    });
    findings.merge(walk::validate(&context.crds, &rules, versions, parallel));
    let mut findings = findings.into_list();
    describe(&context, &mut findings);
    findings
}

/// Runs all rules but those for CRDs, for one version.
fn of_version(context: &Context<'_>, rules: &[&'static Rule], server: &Server) -> Findings {
    let mut findings = Findings::default();
    for &rule in rules {
        let mut reporter = Reporter::new(rule.head(), &mut findings, server);
        match rule.check {
            Check::Bundle(check) => check(context, &mut reporter),
            Check::Object(check) => context.objects.iter().for_each(|object| check(object, &mut reporter)),
            Check::Csv(check) => context.csvs.iter().for_each(|csv| check(csv, &mut reporter)),
            Check::PullRequest(_)
            | Check::Crd(_)
            | Check::Schema(..)
            | Check::ValidSchema(_)
            | Check::Comments
            | Check::Catalog => {}
            Check::Deployment(check) => context.csvs.iter().for_each(|csv| {
                csv.each_deployment(|item| check(item, &mut ErrorReporter::new(item.object, &mut reporter)));
            }),
            Check::PodTemplate(check) => context.csvs.iter().for_each(|csv| {
                csv.each_pod_template(|item| {
                    check(item, &mut ErrorReporter::new(item.object, &mut reporter));
                });
            }),
            Check::Webhook(check) => context.csvs.iter().for_each(|csv| {
                csv.each_webhook(|item| check(item, &mut ErrorReporter::new(item.object, &mut reporter)));
            }),
            Check::BuiltinObject(check) => context.known.iter().for_each(|known| {
                check(known, &mut ErrorReporter::new(known.object, &mut reporter));
            }),
            Check::Metadata(check) => context.metadata.iter().for_each(|metadata| {
                check(metadata, &mut ErrorReporter::new(metadata.object, &mut reporter));
            }),
        }
    }
    findings
}

/// Applies what the user chose to the findings, sorts them, and adds the lines that they point at.
fn chosen(bundle: &Bundle, selection: &Selection, findings: Vec<Finding>) -> Vec<Finding> {
    let comments = if selection.without_comments { Vec::new() } else { ignores::comments_of(bundle) };
    let runs = |rule: &Rule| selection.runs(rule) && rule.suite != Suite::Catalog;
    let mut findings = with_choices(findings, comments, selection, runs);
    add_excerpts(&mut findings, |name| Some(bundle.file(name)?.bytes.as_slice()));
    findings
}

/// Applies what the user chose to the findings of a catalog, sorts them by place, and keeps the first [`MAX_FINDINGS`] of each rule.
#[must_use]
pub fn choose(
    mut findings: Vec<Finding>,
    comments: Vec<IgnoreComment>,
    selection: &Selection,
) -> Vec<Finding> {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut kept = Findings::default();
    for found in findings {
        if let Some(rule) = find(found.rule) {
            kept.add(rule.head(), found);
        }
    }
    let comments = if selection.without_comments { Vec::new() } else { comments };
    with_choices(kept.into_list(), comments, selection, |rule| rule.suite == Suite::Catalog)
}

/// Applies what the user chose to the findings of a catalog, as [`choose`] does, and keeps all of them: for fixes, which would otherwise
/// take a round of validation for every [`MAX_FINDINGS`] of them.
#[must_use]
pub fn choose_all(
    mut findings: Vec<Finding>,
    comments: Vec<IgnoreComment>,
    selection: &Selection,
) -> Vec<Finding> {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    let comments = if selection.without_comments { Vec::new() } else { comments };
    with_choices(findings, comments, selection, |rule| rule.suite == Suite::Catalog)
}

/// Marks the findings that comments and settings ignore, sets their levels, and sorts them. `runs` tells whether a rule was run.
fn with_choices(
    mut findings: Vec<Finding>,
    comments: Vec<IgnoreComment>,
    selection: &Selection,
    runs: impl Fn(&Rule) -> bool,
) -> Vec<Finding> {
    let mut faults = Findings::default();
    for fault in ignores::apply_comments(comments, &mut findings, runs) {
        let rule = if fault.is_unused { "ignore-unused" } else { "ignore-invalid" };
        if let Some(rule) = find(rule) {
            // The whole comment is shown.
            faults.add(rule.head(), rule.finding(&fault.file, Some(fault.position), "", fault.message));
        }
    }
    findings.extend(faults.into_list());
    ignores::apply(&mut findings, &selection.ignores, &selection.levels, selection.deny_warnings);
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings
}

/// Adds the lines that findings and their related places point at; `text` returns that of a file.
pub fn add_excerpts<'t>(findings: &mut [Finding], text: impl Fn(&str) -> Option<&'t [u8]>) {
    let mut lines: HashMap<String, Option<Lines<'t>>> = HashMap::new();
    let mut excerpt = |file: &str, line, column, at_text_position| {
        if !lines.contains_key(file) {
            lines.insert(file.to_owned(), text(file).map(Lines::new));
        }
        let lines = lines.get(file)?.as_ref()?;
        if at_text_position { lines.point(line, column) } else { lines.excerpt(line, column) }
    };
    for finding in findings {
        if let (Some(file), Some(line), Some(column)) = (&finding.file, finding.line, finding.column) {
            finding.excerpt = excerpt(file, line, column, finding.at_text_position);
            finding.end_column = finding.excerpt.as_ref().map(|excerpt| excerpt.end_column);
        }
        for related in &mut finding.related {
            related.excerpt = excerpt(&related.file, related.line, related.column, false);
        }
    }
}

/// Validates what a pull request changes in a catalog's repository; `path` is the repository.
#[must_use]
pub fn validate_pull_request(path: &str, request: &PullRequest, selection: &Selection) -> BundleReport {
    let mut findings = Findings::default();
    for rule in all().filter(|rule| selection.runs(rule)) {
        if let Check::PullRequest(check) = rule.check {
            let server = Server::new(Server::NEWEST);
            check(request, &mut Reporter::new(rule.head(), &mut findings, &server));
        }
    }
    let mut findings = findings.into_list();
    ignores::apply(&mut findings, &selection.ignores, &selection.levels, selection.deny_warnings);
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    BundleReport { path: path.to_owned(), parent: None, name: None, package: None, findings }
}

fn package(bundle: &Bundle) -> Option<String> {
    let annotations = bundle.annotations()?;
    annotations.get(olm_model::Annotations::PACKAGE).map(str::to_owned)
}

/// The sort key of findings: file, position, severity, rule, field, message.
type Order<'f> = (Option<&'f str>, Option<(u32, u32)>, Severity, &'f str, Option<&'f str>, &'f str);

fn order(finding: &Finding) -> Order<'_> {
    let place = finding.line.zip(finding.column);
    (
        finding.file.as_deref(),
        place,
        finding.severity,
        finding.rule,
        finding.path.as_deref(),
        &finding.message,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn rules_are_documented_and_named_once() {
        let mut seen = BTreeSet::new();
        for rule in all() {
            let id = rule.id;
            assert!(seen.insert(id), "duplicate rule {id}");
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{id}");
            for (name, text) in [("what", rule.what), ("help", rule.help)] {
                assert!(text.len() > 5, "{id} has no {name}");
            }
            assert!(!rule.impacts.is_empty(), "{id} has no impact");
            assert!(!rule.sources.is_empty(), "{id} has no source");
            for source in rule.sources {
                assert_eq!(
                    source.since.is_some(),
                    source.project.product().is_some(),
                    "{id}: a source of a project with releases names the first that has the check"
                );
            }
            let is_rejected = !rule.documentation().rejected_by.is_empty();
            assert_eq!(
                is_rejected,
                rule.severity == Severity::Error,
                "{id}: somebody rejects an error, and nobody a warning"
            );
        }
    }

    #[test]
    fn every_file_of_rules_is_listed_in_order_and_named_after_its_rule() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (directory, files) in DIRECTORIES {
            let listed: Vec<_> = files.iter().map(|(file, _)| *file).collect();
            let mut found = Vec::new();
            for entry in fs::read_dir(root.join(directory)).unwrap() {
                let path = entry.unwrap().path();
                let source = fs::read_to_string(&path).unwrap();
                if source.contains("pub(crate) static RULE") {
                    found.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
                }
            }
            found.sort();
            assert_eq!(listed, found, "the files in {directory}/mod.rs");
            for (file, rules) in *files {
                if let [rule] = rules {
                    assert_eq!(rule.id.replace('-', "_"), *file, "the file of {}", rule.id);
                }
            }
        }
    }
}
