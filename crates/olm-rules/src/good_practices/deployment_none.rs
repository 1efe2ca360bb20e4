use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-none",
    suite: Suite::GoodPractices,
    severity: Severity::Error,
    what: "The CSV has no list of Deployments.",
    impacts: &[Impact::SdkRejects, Impact::CsvRejected],
    help: "add spec.install.spec.deployments",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["validateResourceRequests"],
    )
    .since("0.11")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let keys = ["spec", "install", "spec", "deployments"];
    if csv.dig(&keys).is_none_or(Value::is_null) {
        let path = Path::ROOT.field("spec.install.spec.deployments");
        reporter.field(&csv.object, &path, "missing required field `spec.install.spec.deployments`");
    }
}
