use std::collections::BTreeMap;

use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "community-ci-catalog-duplicate",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`ci.yaml` maps two templates to the same catalog.",
    impacts: &[Impact::PipelineRejects, Impact::Specific("Each catalog is built from a single template.")],
    help: "map each catalog to one template in fbc.catalog_mapping of ci.yaml",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/common/operator.py",
        &["check_catalog_usage_ci_config"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = &context.bundle.submission else { return };
    let (Some(file), Some(root)) = (&submission.ci, submission.config()) else { return };
    let Some(mappings) = root.dig(&["fbc", "catalog_mapping"]) else { return };
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let base = Path::ROOT.field("fbc.catalog_mapping");
    for (index, mapping) in mappings.items().enumerate() {
        let entry = base.index(index);
        let names = entry.field("catalog_names");
        for (item, name) in mapping.get("catalog_names").into_iter().flat_map(Value::items).enumerate() {
            if *seen.entry(name.text()).or_insert(index) != index {
                let message = format!("catalog `{}` is also mapped to another template", name.text());
                reporter.document(file, &names.index(item), name.position(), message);
            }
        }
    }
}
