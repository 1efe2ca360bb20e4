use crate::prelude::*;
use olm_model::Content;
use olm_model::dockerfile::{Invalid, invalid};

pub(crate) static RULE: Rule = Rule {
    id: "dockerfile-instruction-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The bundle's Dockerfile has an unknown instruction, has an instruction before `FROM`, or is not encoded in UTF-8.",
    impacts: &[Impact::Specific("The build of the bundle image fails.")],
    help: "correct the instruction",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/generate.go",
        &["GenerateDockerfile"],
    )
    .since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(file) = &context.bundle.dockerfile else { return };
    if matches!(file.content, Content::Unreadable(_)) {
        return;
    }
    let Ok(text) = std::str::from_utf8(&file.bytes) else {
        reporter.help("save the file in UTF-8");
        return reporter.path(&file.path, "the file is not encoded in UTF-8");
    };
    let Some((invalid, position)) = invalid(text) else { return };
    match invalid {
        Invalid::Conflict => {
            reporter
                .help("resolve the conflict, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`");
        }
        Invalid::BeforeFrom(_) => {
            reporter.help("begin with `FROM scratch`");
        }
        Invalid::Unknown { .. } => {}
    }
    reporter.place(file, position, invalid.to_string());
}
