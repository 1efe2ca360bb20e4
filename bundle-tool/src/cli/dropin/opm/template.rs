//! `opm alpha render-template` and `opm alpha convert-template`.
//!
//! Source: `cmd/opm/alpha/template/render.go` and `alpha/template/converter` of operator-registry v1.73.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::{INSECURE, registries};
use super::super::{Status, UsageError};
use super::mermaid;
use super::output::Format;
use super::render::level;
use crate::cli::commands::catalog::convert_template;
use crate::cli::commands::catalog::convert_template::TemplateType;
use crate::cli::commands::render::Output;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use crate::cli::stdin;
use olm_catalog::template::{Bundles, Template, TemplateError};
use olm_model::disk::file;
use olm_model::read::catalog::{Content, Source};

/// The maximum size of a template in bytes.
const MAX_TEMPLATE: u64 = 16 << 20;
/// The types of templates, with their schemas.
const TYPES: [(&str, &str); 3] =
    [("basic", "olm.template.basic"), ("semver", "olm.semver"), ("substitutes", "olm.template.substitutes")];

/// The native command of `alpha render-template`.
pub(crate) const NATIVE: NativeCommand = NativeCommand {
    // The rest of a package may be in other files.
    added: &[("--migrate-level none", &["migrate-level"]), ("--no-validate", &[])],
    ..NativeCommand::new(
        &["catalog", "template"],
        &[
            ("migrate-level", Becomes::IfSet),
            (
                "output",
                Becomes::IfValue(
                    |format| matches!(format, "json" | "yaml"),
                    "`catalog graph --output mermaid` draws the graph of a catalog",
                ),
            ),
            ("skip-tls", INSECURE),
            ("skip-tls-verify", INSECURE),
            ("use-http", INSECURE),
        ],
    )
};

pub(crate) fn render(matches: &Matches) -> Result<Status> {
    let schema = |name: &str| TYPES.iter().find(|(other, _)| *other == name).map(|(_, schema)| *schema);
    let (wanted, path) = match &matches.arguments[..] {
        [] => (None, "-"),
        [one] => schema(one).map_or((None, one.as_str()), |schema| (Some(schema), "-")),
        [name, path, ..] => match schema(name) {
            Some(schema) => (Some(schema), path.as_str()),
            None => bail!(UsageError(format!(
                "invalid template type {name:?}, must be one of: [basic semver substitutes]"
            ))),
        },
    };
    let output = matches.text("output");
    let format = match output {
        "mermaid" => None,
        "json" | "yaml" => Some(Format::from_matches(matches)?),
        _ => bail!(UsageError(format!("invalid --output value {output:?}, expected (json|yaml|mermaid)"))),
    };
    let level = level(matches)?;
    let failed = || format!("failed to read the template {path}");
    let template = read(path, wanted).with_context(failed)?;
    let images = template.images();
    let registries = registries(matches, images.iter().copied())?;
    let (rendering, runtime) = (Rendering::at(level), SharedRuntime::default());
    let mut bundles = Bundles::new();
    for &image in &images {
        let rendered = rendering.rendered(image, Some(image), &registries, &runtime);
        bundles.insert(image.to_owned(), rendered.with_context(|| format!("failed to render {image}"))?);
    }
    drop(images);
    let catalog = template.build(&bundles).context("rendering template")?;
    if let Some(format) = format {
        format.print(&catalog)?;
    } else {
        let options = mermaid::Options { with_v0_semantics: true, ..mermaid::Options::default() };
        let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
        mermaid::write(&catalog, &options, &mut out)?;
        out.flush()?;
    }
    Ok(Status::SUCCESS)
}

/// Reads a template, which must have the schema `wanted` if one is given.
fn read(path: &str, wanted: Option<&str>) -> Result<Template> {
    let bytes = read_input(path)?;
    match Template::parse(&bytes, wanted) {
        Err(TemplateError::OtherSchema { expected, found }) => {
            bail!("template has unknown schema ({found:?}), should be {expected:?}")
        }
        Err(TemplateError::SchemaMissing { .. }) if wanted.is_some() => {
            bail!("template has unknown schema (\"\"), should be {:?}", wanted.unwrap_or_default())
        }
        parsed => Ok(parsed?),
    }
}

fn read_input(path: &str) -> Result<Vec<u8>> {
    Ok(if path == "-" {
        stdin::read(MAX_TEMPLATE, "a catalog template")?
    } else {
        file::read_in_project(Path::new(path), MAX_TEMPLATE)?
    })
}

/// The native commands of `alpha convert-template`.
pub(crate) const TO_BASIC: NativeCommand = to_template(&["catalog", "convert-template", "basic"]);
pub(crate) const TO_SUBSTITUTES: NativeCommand = to_template(&["catalog", "convert-template", "substitutes"]);

const fn to_template(words: &'static [&'static str]) -> NativeCommand {
    NativeCommand::new(
        words,
        &[
            ("output", Becomes::Same),
            ("skip-tls", INSECURE),
            ("skip-tls-verify", INSECURE),
            ("use-http", INSECURE),
        ],
    )
}

/// Prints a template of a catalog: its blobs. A basic template keeps only the image of each bundle.
pub(crate) fn convert(matches: &Matches) -> Result<Status> {
    let output = match Format::from_matches(matches)? {
        Format::Json => Output::Json,
        Format::Yaml => Output::Yaml,
    };
    let path = match matches.argument(0) {
        "" => "-",
        path => path,
    };
    let kind = match matches.command.name {
        "substitutes" => TemplateType::Substitutes,
        _ => TemplateType::Basic,
    };
    let failed = || format!("converting {path}");
    let bytes = read_input(path).with_context(failed)?;
    let source = Source { name: path.into(), content: Content::Bytes(bytes) };
    let mut blobs = convert_template::blobs(vec![source], path).with_context(failed)?;
    // opm reads each blob into a map, whose keys it writes in alphabetical order.
    blobs.iter_mut().for_each(Json::sort_all_objects);
    let text = output.template(&convert_template::template(kind, blobs))?;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Status::SUCCESS)
}
