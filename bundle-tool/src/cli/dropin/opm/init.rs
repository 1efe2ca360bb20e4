//! `opm init`: the blob of a package.
//!
//! Source: `alpha/action/init.go` of operator-registry v1.73; `matchers/image.go` of h2non/filetype.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::Status;
use super::super::cobra::Matches;
use super::output::Format;
use olm_model::catalog::{Catalog, Icon, Package};
use olm_model::disk::file;

/// The maximum size of an icon or a description in bytes.
const MAX_FILE: u64 = 16 << 20;

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let format = Format::from_matches(matches)?;
    let read = |name: &str| {
        matches
            .some(name)
            .map(|path| {
                file::read(Path::new(path), MAX_FILE).with_context(|| format!("open {name} file {path}"))
            })
            .transpose()
    };
    let icon = match read("icon")? {
        Some(bytes) => {
            let Some(mediatype) = media_type(&bytes) else {
                bail!(
                    "{} is not an image: expected PNG, JPEG, GIF, WebP, BMP, TIFF or an icon",
                    matches.text("icon")
                );
            };
            Some(Icon { base64data: STANDARD.encode(&bytes), mediatype: mediatype.to_owned() })
        }
        None => None,
    };
    let description = read("description")?.unwrap_or_default();
    let package = Package {
        schema: "olm.package".to_owned(),
        name: matches.argument(0).to_owned(),
        default_channel: matches.text("default-channel").to_owned(),
        icon,
        description: String::from_utf8_lossy(&description).into_owned(),
        properties: Vec::new(),
    };
    format.print(&Catalog { packages: vec![package], ..Catalog::default() })?;
    Ok(Status::SUCCESS)
}

/// Returns the media type of an image by its first bytes. As in opm, SVG is not recognized.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [b'G', b'I', b'F', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'I', b'I', 0x2a, 0, ..] | [b'M', b'M', 0, 0x2a, ..] => "image/tiff",
        [b'B', b'M', ..] => "image/bmp",
        [b'8', b'B', b'P', b'S', ..] => "image/vnd.adobe.photoshop",
        [0, 0, 1, 0, ..] => "image/vnd.microsoft.icon",
        _ => return None,
    })
}
