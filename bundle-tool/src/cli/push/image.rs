//! `bundle-tool push image`: files FROM scratch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::destination::Destination;
use super::platforms::Platforms;
use super::provenance::Inputs;
use crate::cli::exit::Exit;
use crate::cli::images::created;
use oci_images::layout::{Artifact, FileMap, Image, Platform, Recipe, architectures, layer};
use serde_json::{Map, json};

/// Build and push an image FROM scratch with files and directories, such as an operator's image
///
/// Files belong to root and are readable by everyone; of their modes, only the executable bit is kept. Without --platform,
/// the image is for the architecture of its programs; with a program for each of several platforms, an index is pushed.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Push an operator's binary
  bundle-tool push image quay.io/example/operator:v1.0.0 target/release/manager=/manager \\
    --entrypoint /manager --user 65532:65532

  # Push it for two platforms, with a file that both have, and sign it
  bundle-tool push image quay.io/example/operator:v1.0.0 LICENSE=/licenses/ \\
    --platform linux/amd64=amd64/manager,linux/arm64=arm64/manager --entrypoint /manager \\
    --sign cosign.key")]
pub(super) struct PushImage {
    /// Name of the image, such as registry.example.com/name:tag
    #[arg(value_name = "IMAGE")]
    name: String,
    /// File or directory and its path in the image, such as target/release/manager=/manager
    #[arg(required_unless_present = "platform", value_name = "SOURCE=TARGET")]
    files: Vec<FileArgument>,
    /// Program with its first arguments: words, or a JSON list of strings
    #[arg(long, value_name = "WORDS|JSON", value_parser = parse_words)]
    entrypoint: Option<Words>,
    /// User, or user and group, of the program, such as 65532:65532
    #[arg(long, value_name = "USER[:GROUP]")]
    user: Option<String>,
    /// Environment variable (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    env: Vec<(String, String)>,
    /// Label (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    label: Vec<(String, String)>,
    /// Platform of the image, or the program of --entrypoint for each of several platforms: linux/amd64=FILE,linux/arm64=FILE
    /// [default: the architecture of the programs]
    #[arg(long, value_name = "OS/ARCH[=FILE,...]")]
    platform: Option<Platforms>,
    #[command(flatten)]
    destination: Destination,
}

impl PushImage {
    pub(super) fn run(self) -> Result<Exit> {
        let created = created()?;
        let mut files = FileMap::new();
        for FileArgument { source, target } in &self.files {
            files.collect(source, target)?;
        }
        let inputs = self.inputs(&files)?;
        match self.platform.clone() {
            None => self.destination.send_whole(&self.name, self.build(None, &files, created)?, &inputs),
            Some(Platforms::One(platform)) => {
                let inputs = inputs.parameter("platform", platform.to_string());
                let image = self.build(Some(platform), &files, created)?;
                self.destination.send_whole(&self.name, image, &inputs)
            }
            Some(Platforms::Programs(programs)) => {
                let Some(target) = self.entrypoint.as_ref().and_then(|Words(words)| words.first()) else {
                    bail!(
                        "--platform with programs requires --entrypoint, the path of the program in the image"
                    );
                };
                let named = programs.iter().map(|(platform, path)| (platform.to_string(), path.clone()));
                let inputs = inputs.files("programs", named)?;
                let mut images = Vec::new();
                for (platform, program) in programs {
                    let mut files = files.clone();
                    files.collect(&program, target)?;
                    let image = self
                        .build(Some(platform.clone()), &files, created)
                        .with_context(|| format!("{} is not a program for {platform}", program.display()))?;
                    images.push((platform, Artifact::from(image)));
                }
                self.destination.send_whole(&self.name, Artifact::index(images)?, &inputs)
            }
        }
    }

    /// Returns what the image is built from: its files and settings, and the git revision of the working directory.
    fn inputs(&self, files: &FileMap) -> Result<Inputs> {
        let mut inputs = self.destination.inputs("push image", Path::new(".")).content(files)?;
        if let Some(Words(words)) = &self.entrypoint {
            inputs = inputs.parameter("entrypoint", words.clone());
        }
        if let Some(user) = &self.user {
            inputs = inputs.parameter("user", user.clone());
        }
        for (name, pairs) in [("env", &self.env), ("labels", &self.label)] {
            if !pairs.is_empty() {
                let pairs = pairs.iter().map(|(name, value)| (name.clone(), json!(value)));
                inputs = inputs.parameter(name, pairs.collect::<Map<_, _>>());
            }
        }
        Ok(inputs)
    }

    /// Builds the image for one platform.
    fn build(&self, platform: Option<Platform>, files: &FileMap, created: u64) -> Result<Image> {
        if files.is_empty() {
            bail!("the image contains no files");
        }
        let recipe = Recipe {
            platform: self::platform(platform, files)?,
            layers: vec![layer(files, created)?],
            entrypoint: self.entrypoint.clone().map(|Words(words)| words),
            user: self.user.clone(),
            env: BTreeMap::from_iter(self.env.clone()),
            labels: BTreeMap::from_iter(self.label.clone()),
            created,
            ..Recipe::default()
        };
        Ok(recipe.build()?)
    }
}

/// Returns the platform of the image: the requested one, compared with the architectures of its programs.
fn platform(requested: Option<Platform>, files: &FileMap) -> Result<Platform> {
    let built: Vec<_> = architectures(files)?.into_iter().collect();
    match (requested, built.as_slice()) {
        (Some(requested), []) => Ok(requested),
        (Some(requested), [one]) if requested.architecture == *one => Ok(requested),
        (Some(requested), built) => {
            bail!("requested platform {requested}, but the programs target {}", built.join(", "))
        }
        (None, []) => Ok(Platform::default()),
        (None, [one]) => Ok(Platform { architecture: (*one).to_owned(), ..Platform::default() }),
        (None, built) => bail!("the programs target different architectures: {}", built.join(", ")),
    }
}

/// `SOURCE=TARGET`
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileArgument {
    source: PathBuf,
    target: String,
}

impl std::str::FromStr for FileArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A file's name may contain `=`; for an absolute target, the last `=/` separates.
        let split = text.rfind("=/").or_else(|| text.rfind('='));
        let (source, target) = match split {
            Some(at) if at > 0 && at + 1 < text.len() => (&text[..at], &text[at + 1..]),
            _ => return Err("expected SOURCE=TARGET, such as target/release/manager=/manager".into()),
        };
        let source = PathBuf::from(source);
        // As `cp` does: into a directory, under its own name.
        let target = match (target.ends_with('/'), source.file_name().and_then(|name| name.to_str())) {
            (true, Some(name)) if source.is_file() => format!("{target}{name}"),
            _ => target.to_owned(),
        };
        Ok(Self { source, target })
    }
}

/// The words of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words(Vec<String>);

fn parse_words(text: &str) -> Result<Words, String> {
    let words: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| format!("expected a JSON list of strings: {error}"))?
    } else {
        text.split_whitespace().map(str::to_owned).collect()
    };
    if words.is_empty() { Err("expected a program".into()) } else { Ok(Words(words)) }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_words() {
        let parsed = |text: &str| {
            text.parse::<FileArgument>().map(|file| (file.source.display().to_string(), file.target)).ok()
        };
        let pair = |source: &str, target: &str| Some((source.to_owned(), target.to_owned()));
        assert_eq!(parsed("a/b=/b"), pair("a/b", "/b"));
        assert_eq!(parsed("a=b=/c"), pair("a=b", "/c"));
        assert_eq!(parsed("a=c"), pair("a", "c"));
        for wrong in ["a", "=b", "a="] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        assert_eq!(parse_words("/manager --leader-elect").unwrap().0, ["/manager", "--leader-elect"]);
        assert_eq!(parse_words(r#"["/a b", "c"]"#).unwrap().0, ["/a b", "c"]);
        assert!(parse_words(r#"["/a b""#).is_err() && parse_words(" ").is_err());
    }

    #[test]
    fn the_platform_defaults_to_the_programs_architecture() {
        let mut program = FileMap::new();
        program.collect(&std::env::current_exe().unwrap(), "/test").unwrap();
        let found = platform(None, &program).unwrap();
        assert_eq!(platform(Some(found.clone()), &program).unwrap(), found);
        assert!(platform(Some("linux/mips".parse().unwrap()), &program).is_err());
        let nothing = FileMap::new();
        assert_eq!(platform(None, &nothing).unwrap(), Platform::default());
    }
}
