use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "hub-maintainer-incomplete",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "A maintainer has no name, or no valid email address.",
    impacts: &[Impact::SubmissionRejected],
    help: "set name and email of each maintainer",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecMaintainers"],
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.maintainers");
    for (index, maintainer) in csv.typed.spec.maintainers.iter().enumerate() {
        let entry = list.index(index);
        if maintainer.name.is_empty() && maintainer.email.is_empty() {
            reporter.field(&csv.object, &entry, "missing required fields `name` and `email`");
            continue;
        }
        if maintainer.name.is_empty() {
            reporter.field(&csv.object, &entry.field("name"), "missing required field `name`");
        }
        if maintainer.email.is_empty() {
            reporter.field(&csv.object, &entry.field("email"), "missing required field `email`");
        } else if !is_address(&maintainer.email) {
            let message = format!("invalid email address `{}`", maintainer.email);
            reporter.field(&csv.object, &entry.field("email"), message);
        }
    }
}

/// Returns whether a string is an address such as `a@b` or `A B <a@b>`, in the common forms.
fn is_address(text: &str) -> bool {
    let address = match text.trim().rsplit_once('<') {
        Some((_, rest)) => match rest.strip_suffix('>') {
            Some(address) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let atom = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c))
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.len() > 2 && domain.starts_with('[') && domain.ends_with(']');
    (quoted || local.split('.').all(atom)) && (literal || domain.split('.').all(atom))
}
