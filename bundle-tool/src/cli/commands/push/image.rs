//! `bundle-tool push image`: files FROM scratch or on a base image.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::annotations::Subject;
use super::base::Base;
use super::destination::Destination;
use super::pair;
use super::platforms::Platforms;
use super::provenance::Inputs;
use crate::cli::exit::Exit;
use crate::cli::images::{created, created_by};
use crate::cli::runtime::runtime;
use oci_images::layout::{Artifact, FileMap, Image, ImageBuilder, Platform, Source, architectures, layer};
use serde_json::{Map, json};

/// Build and push an image from files and directories, such as an operator's image
///
/// Files are owned by root and world-readable; only the executable bit of their mode is kept. Without --platform, the
/// image is for the architecture of its programs; with a program for each of several platforms, an index is pushed.
///
/// The image is built FROM scratch, or on the image of --base for the same platform: your files become one additional
/// layer. Environment, entrypoint, user, labels and working directory are inherited from the base unless you set them.
/// As in a Dockerfile, --entrypoint drops the base's arguments. The layers of the base are not unpacked.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Push an operator's binary
  bundle-tool push image quay.io/example/operator:v1.0.0 \\
    target/release/manager=/manager --entrypoint /manager --user 65532:65532

  # Push it for two platforms, with a file that both have, and sign it
  bundle-tool push image quay.io/example/operator:v1.0.0 LICENSE=/licenses/ \\
    --platform linux/amd64=amd64/manager,linux/arm64=arm64/manager \\
    --entrypoint /manager --sign cosign.key

  # Push a dynamically linked program on a base image that has its libraries
  bundle-tool push image quay.io/example/operator:v1.0.0 \\
    manager=/app/manager --workdir /app \\
    --base gcr.io/distroless/cc-debian12:nonroot --entrypoint /app/manager")]
pub(crate) struct PushImage {
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
    #[arg(long, value_name = "USER[:GROUP]", value_parser = parse_user)]
    user: Option<String>,
    /// Working directory of the program: an absolute path
    #[arg(long, value_name = "DIR", value_parser = parse_directory)]
    workdir: Option<String>,
    /// Environment variable (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair::parse)]
    env: Vec<(String, String)>,
    /// Label (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair::parse)]
    label: Vec<(String, String)>,
    /// Base image: a name, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Platform of the image, or the program of --entrypoint for each of several platforms: linux/amd64=FILE,linux/arm64=FILE
    /// [default: the architecture of the programs]
    #[arg(long, value_name = "OS/ARCH[=FILE,...]")]
    platform: Option<Platforms>,
    #[command(flatten)]
    destination: Destination,
}

/// The maximum number of files that a message names.
const MAX_NAMED: usize = 5;

/// The image for one platform, before it is built.
struct Part {
    platform: Platform,
    files: FileMap,
}

impl PushImage {
    pub(crate) fn run(self) -> Result<Exit> {
        let created = created()?;
        let mut files = FileMap::new();
        for FileArgument { source, target } in &self.files {
            files.collect(source, target)?;
        }
        let inputs = self.inputs(&files)?;
        let (parts, inputs) = self.parts(files, inputs)?;
        if parts.iter().any(|part| part.files.is_empty()) {
            bail!("the image contains no files");
        }
        for part in &parts {
            self.check_entrypoint(&part.files)?;
        }
        runtime()?.block_on(async {
            let base = match &self.base {
                Some(name) => {
                    let platforms: Vec<_> = parts.iter().map(|part| part.platform.clone()).collect();
                    Some(Base::open(name, &platforms, &self.destination.registries).await?)
                }
                None => None,
            };
            let annotations = self.destination.annotations(Path::new("."), &Subject::Files, base.as_ref())?;
            let mut inputs = inputs.annotations(&annotations);
            if let Some(base) = &base {
                inputs = inputs.base(base);
            }
            let mut images = Vec::new();
            for (at, Part { platform, files }) in parts.into_iter().enumerate() {
                let base = base.as_ref().and_then(|base| base.chosen.images.get(at).cloned());
                let image = self.build(platform.clone(), base, &files, annotations.clone(), created)?;
                images.push((platform, Artifact::from(image)));
            }
            let artifact = match images.pop() {
                Some((_, image)) if !matches!(self.platform, Some(Platforms::Programs(_))) => image,
                last => {
                    images.extend(last);
                    Artifact::index(images, annotations)?
                }
            };
            let repository = base.as_ref().and_then(|base| base.chosen.repository.as_ref());
            self.destination.send(&self.name, artifact, &inputs, repository).await
        })?;
        Ok(Exit::Success)
    }

    /// Checks that an image without a base contains the program that it starts. Directories in between may be links.
    fn check_entrypoint(&self, files: &FileMap) -> Result<()> {
        let Some(program) = self.entrypoint.as_ref().and_then(|Words(words)| words.first()) else {
            return Ok(());
        };
        let has_links = || files.iter().any(|(_, file)| matches!(file.source, Source::Link(_)));
        let path = Path::new(program.trim_start_matches('/'));
        let is_there = || files.iter().any(|(file, _)| Path::new(file) == path);
        if self.base.is_some() || !program.starts_with('/') || is_there() || has_links() {
            return Ok(());
        }
        let mut names: Vec<_> =
            files.iter().map(|(path, _)| format!("`/{path}`")).take(MAX_NAMED + 1).collect();
        if names.len() > MAX_NAMED {
            names.truncate(MAX_NAMED);
            names.push("…".to_owned());
        }
        bail!(
            "the program of --entrypoint, `{program}`, is not in the image, which contains {}",
            names.join(", ")
        )
    }

    /// Returns the files of the image for each platform.
    fn parts(&self, files: FileMap, inputs: Inputs) -> Result<(Vec<Part>, Inputs)> {
        let programs = match self.platform.clone() {
            None => {
                let platform = platform(None, &files)?;
                return Ok((vec![Part { platform, files }], inputs));
            }
            Some(Platforms::One(requested)) => {
                let inputs = inputs.parameter("platform", requested.to_string());
                let platform = platform(Some(requested), &files)?;
                return Ok((vec![Part { platform, files }], inputs));
            }
            Some(Platforms::Programs(programs)) => programs,
        };
        let Some(target) = self.entrypoint.as_ref().and_then(|Words(words)| words.first()) else {
            bail!("--platform with programs requires --entrypoint, the path of the program in the image");
        };
        let named = programs.iter().map(|(platform, path)| (platform.to_string(), path.clone()));
        let inputs = inputs.files("programs", named)?;
        let part = |(requested, program): (Platform, PathBuf)| {
            let mut files = files.clone();
            files.collect(&program, target)?;
            let platform = platform(Some(requested.clone()), &files)
                .with_context(|| format!("{} is not a program for {requested}", program.display()))?;
            Ok(Part { platform, files })
        };
        Ok((programs.into_iter().map(part).collect::<Result<_>>()?, inputs))
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
        if let Some(directory) = &self.workdir {
            inputs = inputs.parameter("workdir", directory.clone());
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
    fn build(
        &self,
        platform: Platform,
        base: Option<Image>,
        files: &FileMap,
        annotations: BTreeMap<String, String>,
        created: u64,
    ) -> Result<Image> {
        let recipe = ImageBuilder {
            base,
            layers: vec![layer(files, created)?],
            platform,
            entrypoint: self.entrypoint.clone().map(|Words(words)| words),
            command: None,
            user: self.user.clone(),
            working_dir: self.workdir.clone(),
            env: BTreeMap::from_iter(self.env.clone()),
            labels: BTreeMap::from_iter(self.label.clone()),
            annotations,
            created,
            created_by: created_by(),
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
            _ => return Err(
                "expected SOURCE=TARGET after the name of the image, such as target/release/manager=/manager"
                    .into(),
            ),
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
        serde_json::from_str(text)
            .map_err(|_| r#"expected a JSON list of strings, such as ["/manager", "run"]"#.to_owned())?
    } else {
        text.split_whitespace().map(str::to_owned).collect()
    };
    if words.is_empty() { Err("expected a program".into()) } else { Ok(Words(words)) }
}

/// Parses a user, or a user and a group, by number or name.
fn parse_user(text: &str) -> Result<String, String> {
    let (user, group) = text.split_once(':').unwrap_or((text, "0"));
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control())
    };
    if is_name(user) && is_name(group) {
        Ok(text.to_owned())
    } else {
        Err("expected USER[:GROUP], such as 65532:65532".into())
    }
}

/// Parses the path of a directory in an image.
fn parse_directory(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("expected an absolute path, such as /app".into())
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
