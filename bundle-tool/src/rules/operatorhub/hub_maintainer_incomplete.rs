use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-maintainer-incomplete",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "A maintainer has no name, or no e-mail address that is one.",
    why: "OperatorHub shows both, and refuses the operator.",
    help: "write name and email of each maintainer",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecMaintainers)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.maintainers");
    for (index, maintainer) in csv.typed.spec.maintainers.iter().enumerate() {
        let entry = list.index(index);
        if maintainer.name.is_empty() && maintainer.email.is_empty() {
            reporter.field(&csv.object, &entry, "the maintainer has neither a name nor an e-mail address");
            continue;
        }
        if maintainer.name.is_empty() {
            reporter.field(&csv.object, &entry.field("name"), "the maintainer has no name");
        }
        if maintainer.email.is_empty() {
            reporter.field(&csv.object, &entry.field("email"), "the maintainer has no e-mail address");
        } else if !is_address(&maintainer.email) {
            let message = format!("'{}' is no e-mail address", maintainer.email);
            reporter.field(&csv.object, &entry.field("email"), message);
        }
    }
}

/// Whether a text is an address such as `a@b` or `A B <a@b>`, in the forms that people write.
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
