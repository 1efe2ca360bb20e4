use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "media-type-wrong",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations name a media type other than `registry+v1`.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM does not unpack other media types.")],
    help: "set the annotation to `registry+v1`",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/validate.go",
        &["validateAnnotations"],
    )
    .since("1.6")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    match annotations.get(Annotations::MEDIA_TYPE) {
        None | Some("registry+v1") => {}
        Some(other) => {
            let is_meant = other.trim().eq_ignore_ascii_case("registry+v1");
            let safety = if is_meant { Safety::Safe } else { Safety::Unsafe };
            reporter.fix_annotation(&annotations, safety, Annotations::MEDIA_TYPE, "registry+v1");
            reporter.annotation(
                &annotations,
                Annotations::MEDIA_TYPE,
                format!("unsupported media type `{other}`: must be `registry+v1`"),
            );
        }
    }
}
