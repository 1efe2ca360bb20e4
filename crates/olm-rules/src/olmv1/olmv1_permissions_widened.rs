use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-permissions-widened",
    suite: Suite::Olmv1,
    severity: Severity::Info,
    what: "The operator supports all namespaces and has permissions in `spec.install.spec.permissions`, which OLM v1 grants cluster-wide.",
    impacts: &[Impact::Specific(
        "OLM v1 watches all namespaces, turns permissions into ClusterRoles, and adds get, list and watch of namespaces.",
    )],
    help: "check that these permissions are acceptable in all namespaces",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/generators/generators.go",
        &["BundleCSVPermissionsGenerator"],
    )
    .since("0.13")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let spec = &csv.typed.spec;
    let all = spec.install_modes.iter().any(|mode| mode.supported && mode.r#type == "AllNamespaces");
    let rules: usize = spec.install.spec.permissions.iter().map(|permission| permission.rules.len()).sum();
    if all && rules > 0 {
        let path = Path::ROOT.field("spec.install.spec.permissions");
        let plural = if rules == 1 { "" } else { "s" };
        reporter.field(&csv.object, &path, format!("OLM v1 grants {rules} rule{plural} cluster-wide"));
    }
}
