//! Adds to findings the versions of Kubernetes that they hold for, and how to exclude these versions.

use std::borrow::Cow;
use std::fmt::Write as _;

use kube_yaml::Path;
use olm_model::kubernetes::{self, Minor, Versions};
use olm_model::openshift::{OPENSHIFT_VERSIONS, OpenShiftVersions};
use olm_model::report::{Change, Finding, Fix, Safety, Severity, Suite};

use super::inputs::Context;

/// Adds the versions to the messages of findings that do not hold for all of them, and how to exclude those versions.
pub(crate) fn describe(context: &Context<'_>, findings: &mut [Finding]) {
    let claim = &context.claim;
    for finding in findings {
        let Some(versions) = finding.versions else { continue };
        let claimed = versions.intersection(claim.claimed);
        let is_error = finding.severity == Severity::Error;
        let verb = if is_error { "; rejected by " } else { "; applies to " };
        if claimed.is_empty() {
            finding.severity = Severity::Info;
            // Writing to a string cannot fail.
            let _ = write!(finding.message, "{verb}{versions}, which the bundle does not claim");
            continue;
        }
        if claimed == claim.claimed {
            // It holds for all claimed versions: only older versions, which the bundle does not claim, are unaffected.
            finding.versions = None;
            continue;
        }
        let _ = write!(finding.message, "{verb}{claimed}");
        finding.versions = Some(claimed);
        let Some(first) = first_after(claim.claimed, claimed).filter(|_| is_error) else { continue };
        if finding.suite == Suite::Bundle {
            raise(context, first, finding);
        }
    }
}

/// Returns the oldest claimed version that is newer than all `rejecting` versions; `None` if no claimed version is.
fn first_after(claimed: Versions, rejecting: Versions) -> Option<Minor> {
    let last = rejecting.last()?;
    claimed.iter().find(|minor| *minor > last)
}

/// Adds the help and the fix that make the bundle claim `first` and newer versions only.
fn raise(context: &Context<'_>, first: Minor, finding: &mut Finding) {
    let minimum = format!("{first}.0");
    let mut steps = vec![format!("set spec.minKubeVersion to `{minimum}`")];
    if let Some(openshift) = kubernetes::openshift_of(first)
        && let Some((_, text)) = context.bundle.openshift_versions()
        && let Ok(selected) = text.parse::<OpenShiftVersions>()
        && selected.begins_before(openshift)
        && let Some(value) = selected.raised_to(openshift)
    {
        steps.push(format!("the annotation {OPENSHIFT_VERSIONS} to `{value}`"));
    }
    finding.help = Cow::Owned(format!("{}; or {}", steps.join(" and "), finding.help));
    let Some(csv) = context.csvs.first().filter(|_| context.settings.versions.is_none()) else { return };
    if finding.fix.is_some() {
        return;
    }
    let root = Path::ROOT;
    let path = root.field("spec.minKubeVersion");
    let fix = if csv.object.root.at_path(&path).is_some() {
        Fix::new(Safety::Unsafe, &path, Change::SetString(minimum))
    } else {
        Fix::new(Safety::Unsafe, &root.field("spec"), Change::Insert("minKubeVersion".to_owned(), minimum))
    };
    let file = csv.object.file.path.as_str();
    let is_here = finding.file.as_deref() == Some(file);
    finding.fix = Some(Box::new(if is_here { fix } else { fix.in_file(file) }));
}
