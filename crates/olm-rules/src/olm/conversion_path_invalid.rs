use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "conversion-path-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `webhookPath` of a conversion webhook is not a valid URL path.",
    impacts: &[
        Impact::InstallFails,
        Impact::Specific("OLM copies the path to the CRD, and the API server rejects the update."),
    ],
    help: "start the path with `/`, and use lowercase DNS names as segments",
    sources: &[Source::symbols(
        Project::Apiserver,
        "pkg/util/webhook/validation.go",
        &["ValidateWebhookService"],
    )
    .since("1.16")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, webhook) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        let Some(path) = webhook.webhook_path.as_deref().filter(|_| webhook.r#type == "ConversionWebhook")
        else {
            continue;
        };
        if !is_path(path) {
            let entry = list.index(index);
            reporter.field(
                &csv.object,
                &entry.field("webhookPath"),
                format!("invalid path `{path}`: must be lowercase DNS names, each after a `/`"),
            );
        }
    }
}

fn is_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |part: &str| {
        part.bytes().all(|byte| plain(byte) || byte == b'-')
            && part.bytes().next().is_some_and(plain)
            && part.bytes().next_back().is_some_and(plain)
    };
    let step = |step: &str| step.len() <= 253 && step.split('.').all(label);
    rest.is_empty() || rest.strip_suffix('/').unwrap_or(rest).split('/').all(step)
}
