use super::services;
use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "service-type-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The type of a Service is unknown, or a Service of type `ExternalName` has no external name.",
    impacts: &[Impact::ObjectRejected],
    help: "set type to `ClusterIP`, `NodePort`, `LoadBalancer`, or `ExternalName` with externalName",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateService"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Service(service) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &service.spec else { return };
    let kind = services::kind(spec);
    let known = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
    errors.one_of(&root.field("spec.type"), kind, &known);
    if kind == "ExternalName" {
        let name = spec.external_name.as_deref().unwrap_or_default();
        let name = name.strip_suffix('.').unwrap_or(name);
        let path = root.field("spec.externalName");
        if errors.required(&path, name) {
            errors.check(&path, names::dns_subdomain(name));
        }
    }
}
