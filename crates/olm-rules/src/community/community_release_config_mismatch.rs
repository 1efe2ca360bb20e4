use crate::prelude::*;
use kube_yaml::Value;
use olm_model::report::suggest::{did_you_mean, unknown};

pub(crate) static RULE: Rule = Rule {
    id: "community-release-config-mismatch",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`release-config.yaml` does not match `ci.yaml`: the operator is not published as a file-based catalog, the template is not mapped, or a channel of a semver template is not `Fast`, `Candidate` or `Stable`.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline adds the bundle to catalogs with the templates that `ci.yaml` maps."),
    ],
    help: "map the template in fbc.catalog_mapping of ci.yaml, and use the channels of its type",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/common/bundle.py",
        &["check_bundle_release_config"],
    )],
    check: Check::Bundle(check),
};

const SEMVER_CHANNELS: [&str; 3] = ["Candidate", "Fast", "Stable"];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = &context.bundle.submission else { return };
    let Some(file) = &submission.release else { return };
    let root = file.tree.root();
    if !submission.uses_catalog() {
        return reporter.path(&file.file, "unexpected file: fbc.enabled is not `true` in ci.yaml");
    }
    let mappings = submission.config().and_then(|config| config.dig(&["fbc", "catalog_mapping"]));
    let mappings: Vec<Value<'_>> = mappings.into_iter().flat_map(Value::items).collect();
    let templates = root.get("catalog_templates");
    let list = Path::ROOT.field("catalog_templates");
    for (index, template) in templates.into_iter().flat_map(Value::items).enumerate() {
        let entry = list.index(index);
        let Some(name) = template.get("template_name") else { continue };
        let text = |mapping: &Value<'_>, key: &str| mapping.get(key).map(|value| value.text().to_owned());
        let mapping =
            mappings.iter().find(|mapping| text(mapping, "template_name").as_deref() == Some(name.text()));
        let Some(mapping) = mapping else {
            let known: Vec<String> =
                mappings.iter().filter_map(|mapping| text(mapping, "template_name")).collect();
            let near = did_you_mean(name.text(), known.iter().map(String::as_str));
            let message =
                format!("template `{}` is not in fbc.catalog_mapping of ci.yaml{near}", name.text());
            reporter.document(file, &entry.field("template_name"), name.position(), message);
            continue;
        };
        if text(mapping, "type").as_deref() != Some("olm.semver") {
            continue;
        }
        let channels = entry.field("channels");
        for (index, channel) in template.get("channels").into_iter().flat_map(Value::items).enumerate() {
            if !SEMVER_CHANNELS.contains(&channel.text()) {
                let message = unknown("channel of a semver template", channel.text(), &SEMVER_CHANNELS);
                reporter.document(file, &channels.index(index), channel.position(), message);
            }
        }
    }
}
