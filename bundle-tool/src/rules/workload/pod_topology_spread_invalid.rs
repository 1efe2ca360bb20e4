use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, selectors};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-topology-spread-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A topology spread constraint has no skew above 0, no topology key, an unknown reaction or policy, or stands there twice.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "maxSkew from 1 on, a topologyKey, DoNotSchedule or ScheduleAnyway, each pair of these once",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (validateTopologySpreadConstraints)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let list = template.spec_path.field("topologySpreadConstraints");
    let constraints = template.spec.topology_spread_constraints.as_deref().unwrap_or_default();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = list.index(index);
        if constraint.max_skew <= 0 {
            errors.add(&path.field("maxSkew"), format!("{} is not above 0", constraint.max_skew));
        }
        errors.required(&path.field("topologyKey"), &constraint.topology_key);
        let action = constraint.when_unsatisfiable.as_str();
        errors.one_of(&path.field("whenUnsatisfiable"), action, &["DoNotSchedule", "ScheduleAnyway"]);
        let repeated = constraints[..index].iter().any(|other| {
            other.topology_key == constraint.topology_key
                && other.when_unsatisfiable == constraint.when_unsatisfiable
        });
        if repeated {
            let message =
                format!("there is another constraint with '{}' and '{action}'", constraint.topology_key);
            errors.add(&path, message);
        }
        if let Some(domains) = constraint.min_domains {
            let path = path.field("minDomains");
            if domains <= 0 {
                errors.add(&path, format!("{domains} is not above 0"));
            } else if action != "DoNotSchedule" {
                errors.add(&path, "minDomains goes with DoNotSchedule only");
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
        selectors::label_keys(constraint.label_selector.as_ref(), keys, &[], &path, errors);
        selectors::validate(constraint.label_selector.as_ref(), &path.field("labelSelector"), errors);
    }
}
