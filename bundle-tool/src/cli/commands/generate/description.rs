//! The description of an operator: Markdown whose code blocks can be files of the project, such as generated samples.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::files;

/// The maximum size of a description, in bytes: an object of the API server may have 1.5 MiB.
const MAX_SIZE: usize = 1 << 20;

/// Reads a description. A code block that begins with `` ```LANGUAGE file=PATH `` gets the contents of that file, without the
/// comments at its beginning; the path is relative to the description's directory.
pub(crate) fn read(path: &Path) -> Result<String> {
    let invalid = |path: &Path| format!("{} is not valid UTF-8", path.display());
    let text = String::from_utf8(files::required(path, "description")?).with_context(|| invalid(path))?;
    let mut description = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').zip(1..);
    while let Some((line, number)) = lines.next() {
        description.push_str(line);
        let Some(fence) = Fence::parse(line) else { continue };
        if let Some((language, file)) = &fence.file {
            let contents = files::named(path, Path::new(file))
                .with_context(|| format!("{}:{number}: invalid code block", path.display()))?;
            let contents = String::from_utf8(contents).with_context(|| invalid(Path::new(file)))?;
            description.truncate(description.len() - line.len());
            description.extend([fence.ticks, language, "\n"]);
            let body = contents.lines().skip_while(|line| line.starts_with('#') || line.trim().is_empty());
            body.for_each(|line| description.extend([line, "\n"]));
            if description.len() > MAX_SIZE {
                bail!("{}:{number}: the description exceeds the limit of {MAX_SIZE} bytes", path.display());
            }
        }
        loop {
            let Some((line, _)) = lines.next() else {
                if fence.file.is_none() {
                    // It ends with the text.
                    return Ok(description);
                }
                bail!("{}:{number}: unclosed code block", path.display());
            };
            let ends = line.trim().starts_with(fence.ticks) && line.trim().trim_matches('`').is_empty();
            if ends || fence.file.is_none() {
                description.push_str(line);
            }
            if ends {
                break;
            }
        }
    }
    Ok(description)
}

/// The first line of a code block.
struct Fence<'l> {
    ticks: &'l str,
    /// Language and path of the file that it shows.
    file: Option<(&'l str, &'l str)>,
}

impl<'l> Fence<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let length = line.bytes().take_while(|byte| *byte == b'`').count();
        let (ticks, info) = line.split_at(length);
        if length < 3 || info.contains('`') {
            return None;
        }
        let (language, rest) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
        Some(Self { ticks, file: rest.trim().strip_prefix("file=").map(|path| (language, path)) })
    }
}

#[cfg(test)]
mod tests {
    use kube_yaml::text::with_causes;

    use super::*;
    use std::fs;

    fn description(text: &str) -> Result<String> {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".git")).unwrap();
        let write = |name: &str, text: &str| {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        write("config/samples/lake.yaml", "# Generated.\n\nkind: Lake\n# depth\nspec: {}\n");
        read(&write("olm/description.md", text))
    }

    #[test]
    fn code_block_of_a_file_has_its_contents_without_the_header() {
        let text = "Digs.\n\n```yaml file=../config/samples/lake.yaml\nkind: Old\n```\n\n````md\n```yaml file=x\n```\n````\nEnd";
        let expected =
            "Digs.\n\n```yaml\nkind: Lake\n# depth\nspec: {}\n```\n\n````md\n```yaml file=x\n```\n````\nEnd";
        assert_eq!(description(text).unwrap(), expected);
        let plain = "```sh\nmake\n```\n`a` ```b```\n";
        assert_eq!(description(plain).unwrap(), plain);
    }

    #[test]
    fn file_outside_of_the_project_is_not_read() {
        for path in ["/etc/hostname", "../../../../../../../etc/hostname"] {
            let error = format!("{:#}", description(&format!("```yaml file={path}\n```\n")).unwrap_err());
            assert!(error.contains("description.md:1: invalid code block: failed to read "), "{error}");
            assert!(error.contains("outside"), "{error}");
        }
        assert_eq!(description("Digs.\n```sh\nmake").unwrap(), "Digs.\n```sh\nmake", "it ends with the text");
    }

    #[test]
    fn code_block_without_its_file_or_its_end_is_an_error_with_its_line() {
        let error = with_causes(description("\n```yaml file=none.yaml\n```\n").unwrap_err().as_ref());
        assert!(error.contains("description.md:2: invalid code block: failed to read "), "{error}");
        assert!(error.contains("none.yaml: no such file or directory"), "{error}");
        let error = description("```yaml file=../config/samples/lake.yaml\n").unwrap_err().to_string();
        assert!(error.ends_with("description.md:1: unclosed code block"), "{error}");
        let repeated = "```yaml file=../config/samples/lake.yaml\n```\n".repeat(50_000);
        let error = description(&repeated).unwrap_err().to_string();
        assert!(error.ends_with(": the description exceeds the limit of 1048576 bytes"), "{error}");
    }
}
