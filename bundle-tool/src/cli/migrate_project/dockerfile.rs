//! The instructions of a Dockerfile.

use std::ops::Range;

/// What a Dockerfile runs and copies.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    /// The scripts of RUN, and whether the stage is based on an image of opm or operator-sdk.
    pub(super) scripts: Vec<(Range<usize>, bool)>,
    /// The positions of FROM and COPY with the images of opm or operator-sdk that they name.
    pub(super) images: Vec<(usize, String)>,
    /// Scripts of RUN, CMD and ENTRYPOINT as lists, with their words.
    pub(super) lists: Vec<Vec<(Range<usize>, String)>>,
}

/// Reads the instructions of a Dockerfile.
pub(super) fn parse(text: &str) -> Instructions {
    let mut found = Instructions::default();
    let mut is_tool_stage = false;
    let mut start = 0;
    let mut at = 0;
    let mut is_continued = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let begins = at;
        at += line.len();
        let is_comment = trimmed.starts_with('#');
        if !is_continued {
            start = begins;
            if trimmed.is_empty() || is_comment {
                continue;
            }
        }
        is_continued = trimmed.ends_with('\\') || is_continued && is_comment;
        if is_continued && at < text.len() {
            continue;
        }
        is_continued = false;
        instruction(text, start..at, &mut is_tool_stage, &mut found);
    }
    found
}

fn instruction(text: &str, range: Range<usize>, is_tool_stage: &mut bool, found: &mut Instructions) {
    let content = &text[range.clone()];
    let trimmed = content.trim_start();
    let start = range.end - trimmed.len();
    let name = trimmed.split_whitespace().next().unwrap_or_default();
    let rest = trimmed[name.len()..].trim_start();
    let rest_start = range.end - rest.len();
    match name.to_ascii_uppercase().as_str() {
        "FROM" => {
            let image = rest.split_whitespace().find(|word| !word.starts_with("--")).unwrap_or_default();
            *is_tool_stage = is_tool_image(image);
            if *is_tool_stage {
                found.images.push((start, image.to_owned()));
            }
        }
        "COPY" => {
            let image = rest.split_whitespace().find_map(|word| word.strip_prefix("--from="));
            found
                .images
                .extend(image.filter(|image| is_tool_image(image)).map(|image| (start, image.to_owned())));
        }
        "RUN" | "CMD" | "ENTRYPOINT" if rest.starts_with('[') => {
            if let Ok(words) = serde_json::from_str::<Vec<String>>(rest.trim_end()) {
                let at = rest_start..range.end;
                found.lists.push(words.into_iter().map(|word| (at.clone(), word)).collect());
            }
        }
        "RUN" | "CMD" | "ENTRYPOINT" => found.scripts.push((rest_start..range.end, *is_tool_stage)),
        _ => {}
    }
}

/// Returns whether an image contains opm or operator-sdk.
fn is_tool_image(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    matches!(name, "opm" | "operator-sdk" | "upstream-opm-builder" | "upstream-registry-builder")
        || name.starts_with("ose-operator-registry")
        || name.starts_with("ose-operator-sdk")
}
