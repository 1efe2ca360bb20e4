use crate::inputs::RESTART_POLICIES;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "pod-restart-rule-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The restart policy of a container is unknown, or one of its restart rules is incomplete.",
    impacts: &[Impact::DeploymentRejected],
    help: "set restartPolicy to `Always`, `OnFailure` or `Never`, and action and exitCodes in each rule",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateContainerRestartPolicy", "validateInitContainerRestartPolicy"],
    )
    .since("1.35")],
    check: Check::PodTemplate(check),
};

/// The first version of Kubernetes with the action `RestartAllContainers` (`RestartAllContainersOnContainerExits`).
const RESTART_ALL: u16 = 36;

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
    template.each_container(|container, path, role| {
        let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
        let list = path.field("restartPolicyRules");
        let policy = path.field("restartPolicy");
        if let Some(written) = &container.restart_policy
            && !errors.since(RESTART_POLICIES)
        {
            match role {
                ContainerRole::Regular => {
                    errors.add(&policy, "unexpected restartPolicy: supported for init containers only");
                }
                _ => errors.one_of(&policy, written, &["Always"]),
            }
            return;
        }
        match container.restart_policy.as_deref() {
            None if rules.is_empty() => return,
            None => errors.add(&policy, "missing restartPolicy: required with restartPolicyRules"),
            Some("Always") if role == ContainerRole::Sidecar => {
                if !rules.is_empty() {
                    errors.add(&list, "unexpected restartPolicyRules: not supported for sidecars");
                }
                return;
            }
            Some(written) => errors.one_of(&policy, written, &["Always", "OnFailure", "Never"]),
        }
        if rules.len() > 20 {
            errors.add(&list, format!("{} restart rules exceed the limit of 20", rules.len()));
        }
        for (index, rule) in rules.iter().enumerate() {
            let path = list.index(index);
            let has_all = rule.action == "RestartAllContainers" && errors.since(RESTART_ALL);
            if !has_all {
                errors.one_of(&path.field("action"), &rule.action, &["Restart"]);
            }
            let codes = path.field("exitCodes");
            let Some(exit_codes) = &rule.exit_codes else {
                errors.add(&codes, "missing required field `exitCodes`");
                continue;
            };
            errors.one_of(&codes.field("operator"), &exit_codes.operator, &["In", "NotIn"]);
            let count = exit_codes.values.as_ref().map_or(0, Vec::len);
            if count > 255 {
                errors.add(&codes.field("values"), format!("{count} exit codes exceed the limit of 255"));
            }
        }
    });
}
