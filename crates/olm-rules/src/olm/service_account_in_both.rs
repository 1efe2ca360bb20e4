use crate::prelude::*;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "service-account-in-both",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The bundle contains a ServiceAccount that a Deployment of the CSV uses.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM creates the service accounts of the CSV itself.")],
    help: "remove the ServiceAccount from manifests/",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateServiceAccounts"],
    )
    .since("0.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    let pods = csv.typed.spec.install.spec.deployments.iter().filter_map(|deployment| {
        let pod = deployment.spec.template.spec.as_ref();
        pod.and_then(|pod| pod.service_account_name.as_deref())
    });
    let used: BTreeSet<_> = pods.collect();
    for account in context.objects.iter().filter(|object| object.is("v1", "ServiceAccount")) {
        if !account.name().is_empty() && used.contains(account.name()) {
            let message =
                format!("unexpected service account `{}`: OLM creates it from the CSV", account.name());
            reporter.field(account, &Path::ROOT.field("metadata.name"), message);
        }
    }
}
