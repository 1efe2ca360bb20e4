use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "network-policy-type-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A NetworkPolicy has an unknown policy type, or more than two.",
    impacts: &[Impact::ObjectRejected],
    help: "set policyTypes to `Ingress`, `Egress` or both",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/networking/validation/validation.go",
        &["ValidateNetworkPolicySpec"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::NetworkPolicy(policy) = &known.typed else { return };
    let root = Path::ROOT;
    let types = policy.spec.as_ref().and_then(|spec| spec.policy_types.as_deref()).unwrap_or_default();
    let list = root.field("spec.policyTypes");
    if types.len() > 2 {
        errors.add(&list, format!("{} policy types exceed the limit of 2", types.len()));
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        errors.one_of(&list.index(index), kind, &["Ingress", "Egress"]);
    }
}
