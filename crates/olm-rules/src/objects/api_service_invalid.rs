use crate::kubernetes::names;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "api-service-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An aggregated API that the operator owns has an invalid group or version.",
    impacts: &[Impact::ApiServiceRejected],
    help: "set group to a domain like `gadgets.example.com`, and version to a name like `v1`",
    sources: &[
        Source::file(Project::KubeAggregator, "pkg/apis/apiregistration/validation/validation.go")
            .since("1.16"),
        Source::file(Project::OperatorLifecycleManager, "pkg/controller/install/apiservice.go").since("0.14"),
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let mut errors = ErrorReporter::new(csv.object, reporter);
    let root = Path::ROOT;
    let list = root.field("spec.apiservicedefinitions.owned");
    for (index, api) in csv.typed.spec.apiservicedefinitions.owned.iter().enumerate() {
        let path = list.index(index);
        if !api.group.is_empty() {
            errors.check(&path.field("group"), names::dns_subdomain(&api.group));
        } else if api.version != "v1" {
            errors.add(&path.field("group"), "missing required field `group`");
        }
        errors.check(&path.field("version"), names::dns_1035_label(&api.version));
    }
}
