use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "install-strategy-unknown",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The install strategy is not `deployment`.",
    impacts: &[Impact::CsvFails("InvalidStrategy")],
    help: "set spec.install.strategy to `deployment`",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/resolver.go",
        &["UnmarshalStrategy"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let strategy = csv.typed.spec.install.strategy.as_str();
    if !strategy.is_empty() && strategy != "deployment" {
        let message = format!("unsupported install strategy `{strategy}`: must be `deployment`");
        let path = Path::ROOT.field("spec.install.strategy");
        let is_meant = strategy.trim().eq_ignore_ascii_case("deployment");
        let safety = if is_meant { Safety::Safe } else { Safety::Unsafe };
        reporter.fix(Fix::new(safety, &path, Change::SetString("deployment".to_owned())));
        reporter.field(&csv.object, &path, message);
    }
}
