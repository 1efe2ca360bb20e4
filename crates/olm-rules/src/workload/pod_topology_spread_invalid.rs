use std::collections::BTreeSet;

use crate::kubernetes::selectors;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-topology-spread-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A topology spread constraint has a `maxSkew` below 1, no `topologyKey`, an unknown `whenUnsatisfiable` or policy, or is a duplicate.",
    impacts: &[Impact::DeploymentRejected],
    help: "set `maxSkew` to at least 1, set `topologyKey`, set `whenUnsatisfiable` to `DoNotSchedule` or `ScheduleAnyway`, and do not repeat a combination of `topologyKey` and `whenUnsatisfiable`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateTopologySpreadConstraints"],
    )
    .since("1.18")],
    check: Check::PodTemplate(check),
};

/// The first version that adds `matchLabelKeys` to the selector, and so permits keys that the selector has, too.
const MERGED_SELECTORS: u16 = 34;

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = template.spec_path.field("topologySpreadConstraints");
    let constraints = template.spec.topology_spread_constraints.as_deref().unwrap_or_default();
    let mut seen = BTreeSet::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = list.index(index);
        if constraint.max_skew <= 0 {
            errors.add(
                &path.field("maxSkew"),
                format!("invalid maxSkew {}: must be greater than 0", constraint.max_skew),
            );
        }
        errors.required(&path.field("topologyKey"), &constraint.topology_key);
        let action = constraint.when_unsatisfiable.as_str();
        errors.one_of(&path.field("whenUnsatisfiable"), action, &["DoNotSchedule", "ScheduleAnyway"]);
        if !seen.insert((&constraint.topology_key, &constraint.when_unsatisfiable)) {
            let message = format!("duplicate constraint for `{}` and `{action}`", constraint.topology_key);
            errors.add(&path, message);
        }
        if let Some(domains) = constraint.min_domains {
            let path = path.field("minDomains");
            if domains <= 0 {
                errors.add(&path, format!("invalid minDomains {domains}: must be greater than 0"));
            } else if action != "DoNotSchedule" {
                errors.add(&path, "`minDomains` requires `whenUnsatisfiable: DoNotSchedule`");
            }
        }
        for (field, policy) in [
            ("nodeAffinityPolicy", &constraint.node_affinity_policy),
            ("nodeTaintsPolicy", &constraint.node_taints_policy),
        ] {
            if let Some(policy) = policy {
                errors.one_of(&path.field(field), policy, &["Honor", "Ignore"]);
            }
        }
        let keys = constraint.match_label_keys.as_deref().unwrap_or_default();
        let selected = selectors::keys(constraint.label_selector.as_ref());
        let list = path.field("matchLabelKeys");
        for (index, key) in keys.iter().enumerate().filter(|(_, key)| selected.contains(key.as_str())) {
            if !errors.since(MERGED_SELECTORS) {
                errors.add(&list.index(index), format!("key `{key}` is also in `labelSelector`"));
            }
        }
        selectors::label_keys(constraint.label_selector.as_ref(), keys, &[], &path, errors);
        selectors::validate(constraint.label_selector.as_ref(), &path.field("labelSelector"), errors);
    }
}
