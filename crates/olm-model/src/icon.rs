//! The images that stand for operators and packages in catalogs.

/// How many bytes of an XML document are searched for its root element, as long comments may precede it.
const XML_START: usize = 64 << 10;

/// Returns the media type of an image, by its first bytes: one of those that browsers show. `None` for other formats.
#[must_use]
pub fn media_type(data: &[u8]) -> Option<&'static str> {
    Some(match data {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ if is_svg(data) => "image/svg+xml",
        _ => return None,
    })
}

fn is_svg(data: &[u8]) -> bool {
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data).trim_ascii_start();
    let is_xml = [&b"<?xml"[..], b"<!--", b"<!DOCTYPE"].iter().any(|start| text.starts_with(start));
    let start = &text[..text.len().min(XML_START)];
    text.starts_with(b"<svg")
        || (is_xml && start.windows(4).any(|window| matches!(window, b"<svg" | b":svg")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_is_that_of_the_first_bytes() {
        for (data, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVEfmt ", None),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- drawn --><svg/>", Some("image/svg+xml")),
            (b"  <svg/>", Some("image/svg+xml")),
            (b"<?xml version='1.0'?><ns0:svg/>", Some("image/svg+xml")),
            (b"<html><svg/></html>", None),
            (b"", None),
        ] {
            assert_eq!(media_type(data), expected, "{}", data.escape_ascii());
        }
    }
}
