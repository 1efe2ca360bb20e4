use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "container-requests-missing",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "A container of the operator has no resource requests.",
    impacts: &[Impact::Specific(
        "A quota or policy of the cluster may reject the pod, and the scheduler does not know what resources the pod needs.",
    )],
    help: "set resources.requests with cpu and memory",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["validateResourceRequests"],
    )
    .since("0.11")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    for (index, deployment) in csv.typed.spec.install.spec.deployments.iter().enumerate() {
        let entry = list.index(index);
        let containers = entry.field("spec.template.spec.containers");
        let pod = deployment.spec.template.spec.as_ref();
        for (index, container) in pod.into_iter().flat_map(|pod| &pod.containers).enumerate() {
            if container.resources.as_ref().and_then(|resources| resources.requests.as_ref()).is_none() {
                let message = format!("missing resource requests of container `{}`", container.name);
                let path = containers.index(index);
                reporter.field(&csv.object, &path.field("resources"), message);
            }
        }
    }
}
