//! What refers to an image: signatures, SBOMs, provenance (distribution specification, listing referrers).

use std::collections::BTreeMap;

use oci_spec::image::Digest;
use reqwest::header::{ACCEPT, HeaderValue, LINK};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;

use super::attach::referrers_tag;
use super::client::{MANIFEST_TYPES, Repository};
use super::error::Error;
use super::failure::Failure;
use super::http::Request;
use crate::layout::{DOCUMENT_LIMIT, sha256};

/// Maximum number of referrers that are listed.
const MAX_REFERRERS: usize = 1000;
/// Maximum number of pages that are read.
const MAX_PAGES: usize = 20;

/// A manifest that refers to an image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Referrer {
    /// The digest of the manifest.
    pub digest: String,
    /// What it is, such as `application/spdx+json`.
    #[serde(default)]
    pub artifact_type: String,
    /// The size of the manifest in bytes.
    #[serde(default)]
    pub size: u64,
    /// The annotations of the manifest.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    manifests: Vec<Referrer>,
}

impl Repository {
    /// Returns what refers to the image `digest`, at most 1,000 manifests: as the referrers API lists it, or, if the
    /// registry does not have that, the index with the tag that the specification defines for it.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] and [`Error::Invalid`] if the registry does not respond as specified.
    pub async fn referrers(&self, digest: &Digest) -> Result<Vec<Referrer>, Error> {
        let what = format!("the referrers of {digest}");
        let error = |failure| self.session.error(failure, "list", &what);
        let mut url = self.session.url(&format!("referrers/{digest}")).map_err(error)?;
        let mut found = Vec::new();
        for _ in 0..MAX_PAGES {
            let Some((page, next)) = self.referrers_page(&url).await.map_err(error)? else {
                return self.referrers_by_tag(digest).await.map_err(error);
            };
            found.extend(page.manifests);
            found.truncate(MAX_REFERRERS);
            match next {
                Some(next) if found.len() < MAX_REFERRERS => url = next,
                _ => break,
            }
        }
        Ok(found)
    }

    /// Returns a page and the address of the next one; `None` if the registry does not have the API.
    async fn referrers_page(&self, url: &Url) -> Result<Option<(Page, Option<Url>)>, Failure> {
        let request = Request::new(Method::GET, url.clone())
            .header(ACCEPT, HeaderValue::from_static("application/vnd.oci.image.index.v1+json"));
        self.session
            .run(|| async {
                let response = self.session.send(&request).await?;
                match response.status() {
                    StatusCode::OK => {}
                    StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED => {
                        return Ok(None);
                    }
                    _ => return Err(response.failure().await),
                }
                let next = response.header(&LINK).and_then(|link| next_page(&link).map(str::to_owned));
                let next = next.map(|next| self.session.http.target(response.url(), &next)).transpose()?;
                let next = next.filter(|next| next.origin() == url.origin());
                Ok(Some((parse(&response.bytes(DOCUMENT_LIMIT).await?)?, next)))
            })
            .await
    }

    async fn referrers_by_tag(&self, digest: &Digest) -> Result<Vec<Referrer>, Failure> {
        match self.manifest_bytes(&referrers_tag(digest)).await {
            Ok(bytes) => {
                let mut found = parse(&bytes)?.manifests;
                found.truncate(MAX_REFERRERS);
                Ok(found)
            }
            Err(Failure::Status { status: StatusCode::NOT_FOUND, .. }) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the digest of what has a tag or a digest in this repository; `None` if nothing has it.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] and [`Error::Denied`] if the registry does not say.
    pub async fn find(&self, version: &str) -> Result<Option<String>, Error> {
        let what = format!("{version} in {}", self.reference.repository());
        let url = self.session.url(&format!("manifests/{version}"));
        let error = |failure| self.session.error(failure, "look up", &what);
        let request = Request::new(Method::HEAD, url.map_err(error)?)
            .header(ACCEPT, HeaderValue::from_static(MANIFEST_TYPES));
        let found = self
            .session
            .run(|| async {
                let response = self.session.send(&request).await?;
                match response.status() {
                    StatusCode::OK => Ok(Some(response.header(&super::client::CONTENT_DIGEST))),
                    StatusCode::NOT_FOUND => Ok(None),
                    _ => Err(response.failure().await),
                }
            })
            .await
            .map_err(error)?;
        match found {
            Some(Some(digest)) => Ok(Some(self.session.http.secrets.clean(&digest))),
            Some(None) => Ok(Some(sha256(&self.manifest_bytes(version).await.map_err(error)?).to_string())),
            None => Ok(None),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Page, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::Invalid(format!("not an image index at line {}, column {}", error.line(), error.column()))
    })
}

/// Returns the address with the relation `next` of a `Link` header (RFC 8288).
fn next_page(link: &str) -> Option<&str> {
    link.split(',').find_map(|link| {
        let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next =
            parameters.split(';').any(|parameter| matches!(parameter.trim(), "rel=next" | "rel=\"next\""));
        is_next.then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_is_found() {
        assert_eq!(next_page(r#"</v2/a/referrers/x?last=y>; rel="next""#), Some("/v2/a/referrers/x?last=y"));
        assert_eq!(next_page(r#"<a>; rel="prev", <b>; title=x; rel=next"#), Some("b"));
        for none in ["", "<a>", "a; rel=next", "<a; rel=next", r#"<a>; rel="prev""#] {
            assert_eq!(next_page(none), None, "{none}");
        }
    }
}
