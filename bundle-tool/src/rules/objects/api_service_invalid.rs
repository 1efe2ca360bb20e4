use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::{Check, Rule};
use crate::rules::{Csv, Reporter};

pub(super) static RULE: Rule = Rule {
    id: "api-service-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An API that the operator owns has a group or version that cannot be served.",
    why: "The API server refuses the APIService, and the CSV fails with InstallComponentFailed.",
    help: "use a group like gadgets.example.com and a version like v1",
    source: "k8s.io/kube-aggregator, pkg/apis/apiregistration/validation/validation.go; operator-lifecycle-manager, pkg/controller/install/apiservice.go",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let mut errors = Errors::new(csv.object, reporter);
    let root = Path::ROOT;
    let list = root.field("spec.apiservicedefinitions.owned");
    for (index, api) in csv.typed.spec.apiservicedefinitions.owned.iter().enumerate() {
        let path = list.index(index);
        if !api.group.is_empty() {
            errors.check(&path.field("group"), names::dns_subdomain(&api.group));
        } else if api.version != "v1" {
            errors.add(&path.field("group"), "group is missing");
        }
        errors.check(&path.field("version"), names::dns_1035_label(&api.version));
    }
}
