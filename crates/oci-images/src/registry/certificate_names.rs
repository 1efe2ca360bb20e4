//! The names in the certificate of a signature: whom it was issued to, and who vouched for them.
//!
//! Source: RFC 5280, section 4.2.1.6; `docs/oid-info.md` of sigstore/fulcio.

use super::der::{BOOLEAN, Der, OBJECT, SEQUENCE, UTF8_STRING, numbered};

/// The extension with alternative names (RFC 5280).
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// Fulcio's extension with the issuer of the identity token: as a string, and as bytes.
const ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x08];
const OLD_ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x01];
/// The extensions of a certificate.
const EXTENSIONS: u8 = numbered(3);
/// The alternative names that are email addresses and URIs.
const EMAIL: u8 = 0x81;
const URI: u8 = 0x86;

/// Whom a certificate was issued to, and who vouched for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Email addresses and URIs.
    pub(super) subjects: Vec<String>,
    /// The URL of the server that vouched for them.
    pub(super) issuer: Option<String>,
}

impl Names {
    /// Reads the extensions of a certificate; `None` if it is not one.
    pub(super) fn parse(certificate: &[u8]) -> Option<Self> {
        let mut outer = Der(certificate);
        let mut outer = Der(outer.value(SEQUENCE)?);
        let mut fields = Der(outer.value(SEQUENCE)?);
        let mut names = Self::default();
        while let Some((tag, value)) = fields.next() {
            if tag != EXTENSIONS {
                continue;
            }
            let mut extensions = Der(Der(value).value(SEQUENCE)?);
            while let Some((SEQUENCE, extension)) = extensions.next() {
                let mut extension = Der(extension);
                let id = extension.value(OBJECT)?;
                let mut value = extension.next()?;
                // Whether it is critical.
                if value.0 == BOOLEAN {
                    value = extension.next()?;
                }
                let value = value.1;
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
                match id {
                    SUBJECT_ALT_NAME => {
                        let mut alternatives = Der(Der(value).value(SEQUENCE)?);
                        while let Some((tag, name)) = alternatives.next() {
                            if matches!(tag, EMAIL | URI) {
                                names.subjects.extend(text(name));
                            }
                        }
                    }
                    ISSUER => names.issuer = text(Der(value).value(UTF8_STRING)?),
                    OLD_ISSUER if names.issuer.is_none() => names.issuer = text(value),
                    _ => {}
                }
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::sigstore_fixtures::{PROVIDER, SUBJECT, World};

    #[test]
    fn certificates_that_are_cut_off_have_no_names() {
        let (certificate, _) = World::new().certificate();
        let names = Names::parse(&certificate).unwrap();
        assert_eq!(names.subjects, [SUBJECT]);
        assert_eq!(names.issuer.as_deref(), Some(PROVIDER));
        for length in 0..certificate.len() {
            assert_eq!(Names::parse(&certificate[..length]), None, "{length}");
        }
    }
}
