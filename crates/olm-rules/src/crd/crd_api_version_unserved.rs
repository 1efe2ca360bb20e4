use crate::prelude::*;
use olm_model::Object;

pub(crate) static RULE: Rule = Rule {
    id: "crd-api-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CustomResourceDefinition has an API version other than `apiextensions.k8s.io/v1`.",
    impacts: &[Impact::CrdRejected, Impact::Specific("Kubernetes 1.22 and later serve no other version.")],
    help: "convert the CRD to apiVersion `apiextensions.k8s.io/v1`",
    sources: &[Source::symbols(
        Project::KubernetesDocs,
        "Deprecated API Migration Guide",
        &["v1.22, CustomResourceDefinition"],
    )],
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    let version = object.api_version();
    if object.kind() == "CustomResourceDefinition" && version != "apiextensions.k8s.io/v1" {
        if version.is_empty() {
            reporter.help("add `apiVersion: apiextensions.k8s.io/v1`");
            let insert = Change::Insert("apiVersion".to_owned(), "apiextensions.k8s.io/v1".to_owned());
            reporter.fix(Fix::new(Safety::Safe, &Path::ROOT, insert));
            return reporter.field(object, &Path::ROOT, "missing required field `apiVersion`");
        }
        let message = format!("unsupported apiVersion `{version}`: must be `apiextensions.k8s.io/v1`");
        reporter.field(object, &Path::ROOT.field("apiVersion"), message);
    }
}
