use crate::prelude::*;
use kube_yaml::Value;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "owned-crd-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV lists the same version of an owned custom resource twice.",
    impacts: &[Impact::SdkRejects],
    help: "remove one of the entries",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateOwnedCRDs"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.customresourcedefinitions.owned");
    let owned = &csv.typed.spec.customresourcedefinitions.owned;
    let mut seen = BTreeMap::new();
    for (index, entry) in owned.iter().enumerate() {
        let first = *seen.entry((&entry.name, &entry.version, &entry.kind)).or_insert(index);
        if first < index {
            let message = format!("duplicate owned CRD `{}` version `{}`", entry.name, entry.version);
            let written = |index: usize| {
                csv.dig(&["spec", "customresourcedefinitions", "owned"])?.item(index).map(Value::to_json)
            };
            let same = (0..index).any(|earlier| written(earlier) == written(index));
            let safety = if same { Safety::Safe } else { Safety::Unsafe };
            reporter.fix(Fix::new(safety, &list.index(index), Change::Remove));
            reporter.field(&csv.object, &list.index(index), message);
            reporter.related(&csv.object, &list.index(first), "first owned here");
        }
    }
}
