//! A catalog over HTTP: catalogd's API, pages to browse it, metrics.
//!
//! `/catalogs/NAME/api/v1/all` and `/metas` answer as catalogd does: status, headers, conditional requests, ranges and
//! errors. Compression is gzip only, and several ranges in one request are answered with everything. The pages are
//! plain HTML with one style sheet: no scripts, nothing from elsewhere.
//!
//! Source: `internal/catalogd/server/handlers.go` of operator-controller v1.11.

mod body;
mod conditions;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::task::{JoinError, spawn_blocking};

use self::body::Body;
use self::conditions::Part;
use super::metrics;
use super::site::{Filter, GraphError, ICON, Page, PageError, STYLE, Site, first, is_catalog_name};
use super::state::{CatalogSnapshot, CatalogState};
use olm_model::names;

/// Longest body in bytes that Go's server buffers, and sends with its length.
const MAX_BUFFERED: u64 = 2048;

/// The minimum size of a response that is compressed.
const MIN_COMPRESSED: u64 = 1024;

/// The media type of catalogs.
const JSON_LINES: &str = "application/jsonl";

/// What browsers may do with a page: show it and its images, and send its form.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

/// What browsers may do with an icon, which comes from the catalog, or a drawing: show it.
const IMAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Answers a request, whatever its body is.
pub(crate) async fn answer(state: &CatalogState, request: &Request<()>) -> Response<Body> {
    let snapshot = state.snapshot();
    let (route, mut response) = route(state, &snapshot, request).await;
    if request.method() == Method::HEAD {
        *response.body_mut() = body::full(Bytes::new());
    }
    state.metrics().http(route, response.status().as_u16());
    response
}

/// Returns the name of the route in metrics, and the answer.
async fn route(
    state: &CatalogState,
    snapshot: &CatalogSnapshot,
    request: &Request<()>,
) -> (&'static str, Response<Body>) {
    let path = request.uri().path();
    let Some(site) = &snapshot.site else { return ("other", not_found()) };
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let api = match segments.as_slice() {
        ["catalogs", name, "api", "v1", method @ ("all" | "metas")] => Some((decoded(name), *method)),
        ["api", "v1", method @ ("all" | "metas")] => Some((site.name.clone(), *method)),
        _ => None,
    };
    if let Some((name, method)) = api {
        let route = if method == "all" { "all" } else { "metas" };
        let mut response = if is_read(request) {
            of_catalog(site, &name, route, request)
        } else {
            error(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        return (route, response);
    }
    if !is_read(request) {
        let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return ("other", response);
    }
    match segments.as_slice() {
        ["metrics"] => ("metrics", with_type(metrics::MEDIA_TYPE, state.metrics().to_prometheus().into())),
        ["healthz" | "readyz"] => ("health", with_type("text/plain; charset=utf-8", "ok\n".into())),
        ["style.css"] => ("page", with_type("text/css; charset=utf-8", STYLE.into())),
        ["icon.svg"] => ("page", with_type("image/svg+xml", ICON.into())),
        ["packages", package, "graph.svg"] => ("graph", graph(site, &decoded(package)).await),
        ["icons", package] => {
            let (snapshot, package) = (snapshot.clone(), decoded(package));
            (
                "icon",
                spawn_blocking(move || icon(&snapshot, &package))
                    .await
                    .unwrap_or_else(|failure| failed(&failure)),
            )
        }
        ["catalogs", ..] => {
            let mut response = not_found();
            response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            ("other", response)
        }
        [""] | ["packages", _] | ["packages", _, "channels", _] => {
            let segments: Vec<String> = segments.iter().map(|segment| decoded(segment)).collect();
            let (site, catalog, query) = (Arc::clone(site), Arc::clone(&snapshot.catalog), pairs(request));
            let page = move || {
                let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
                match segments[..] {
                    ["packages", package] => site.pages.package(&catalog, package),
                    ["packages", package, "channels", channel] => {
                        site.pages.channel(&catalog, package, channel)
                    }
                    _ => site.pages.packages(&query),
                }
            };
            ("page", spawn_blocking(page).await.map_or_else(|failure| failed(&failure), of_page))
        }
        _ => ("other", not_found()),
    }
}

fn failed(failure: &JoinError) -> Response<Body> {
    error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string())
}

fn is_read(request: &Request<()>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn decoded(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

fn pairs(request: &Request<()>) -> Vec<(String, String)> {
    let query = request.uri().query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// Answers as catalogd does.
fn of_catalog(site: &Site, name: &str, route: &str, request: &Request<()>) -> Response<Body> {
    if !is_catalog_name(name) {
        return error(StatusCode::BAD_REQUEST, &invalid_name(name));
    }
    let query = pairs(request);
    let is_known = |name: &str| ["schema", "package", "name"].contains(&name);
    if route == "metas" && query.iter().any(|(name, _)| !is_known(name)) {
        return error(StatusCode::BAD_REQUEST, "400 Bad Request");
    }
    if name != site.name {
        return error(StatusCode::NOT_FOUND, "404 Not Found");
    }
    let headers = request.headers();
    let condition = conditions::precondition(headers, site.loaded);
    let mut response = match (condition, route) {
        (Some(status), _) => {
            let mut response = Response::new(body::full(Bytes::new()));
            *response.status_mut() = status;
            // The header stays where only the status changes.
            if route == "all" && status == StatusCode::PRECONDITION_FAILED {
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
            }
            response
        }
        (None, "all") => all(site, request),
        (None, _) => {
            let filter = Filter {
                schema: first(&query, "schema"),
                package: first(&query, "package"),
                name: first(&query, "name"),
            };
            let total = site.content.matching(filter.clone()).map(|line| line.len() as u64).sum();
            json_lines(site, request, site.content.matching(filter), total)
        }
    };
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE {
        let modified = httpdate::fmt_http_date(site.loaded);
        if let Ok(modified) = modified.parse() {
            response.headers_mut().insert(header::LAST_MODIFIED, modified);
        }
    }
    response
}

fn all(site: &Site, request: &Request<()>) -> Response<Body> {
    let total = site.content.size();
    let mut response = match conditions::part(request.headers(), site.loaded, total) {
        Part::All => {
            let mut response = json_lines(site, request, site.content.matching(Filter::default()), total);
            if !response.headers().contains_key(header::CONTENT_ENCODING) {
                response.headers_mut().insert(header::CONTENT_LENGTH, total.into());
            }
            response
        }
        Part::Range(start, length) => {
            let mut response = Response::new(body::pieces(site.content.range(start, length)));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
            headers.insert(header::CONTENT_LENGTH, length.into());
            let range = format!("bytes {start}-{}/{total}", (start + length).saturating_sub(1));
            insert(headers, header::CONTENT_RANGE, &range);
            response
        }
        Part::Unsatisfiable { is_valid } => {
            let message = if is_valid { "invalid range: failed to overlap" } else { "invalid range" };
            let mut response = error(StatusCode::RANGE_NOT_SATISFIABLE, message);
            if is_valid {
                insert(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{total}"));
            }
            return response;
        }
    };
    // What is compressed has no positions.
    if !response.headers().contains_key(header::CONTENT_ENCODING) {
        response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }
    response
}

/// Returns lines, compressed if the client accepts that, they are long enough, and not too many responses are being compressed.
fn json_lines(
    site: &Site,
    request: &Request<()>,
    lines: impl Iterator<Item = Bytes> + Send + 'static,
    total: u64,
) -> Response<Body> {
    let wants_compressed = request.method() == Method::GET
        && total >= MIN_COMPRESSED
        && conditions::accepts_gzip(request.headers());
    let permit = wants_compressed.then(|| Arc::clone(&site.compressions).try_acquire_owned().ok()).flatten();
    let is_compressed = permit.is_some();
    let mut response = Response::new(match permit {
        Some(permit) => body::gzip(lines, permit),
        None => body::pieces(lines),
    });
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_LINES));
    if is_compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    } else if total <= MAX_BUFFERED && (total > 0 || request.method() == Method::GET) {
        headers.insert(header::CONTENT_LENGTH, total.into());
    }
    response
}

fn insert(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        headers.insert(name, value);
    }
}

fn invalid_name(name: &str) -> String {
    const SYNTAX: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
        '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
        '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let mut reasons = Vec::new();
    if name.len() > names::MAX_SUBDOMAIN {
        reasons.push("must be no more than 253 characters");
    }
    if !names::has_subdomain_syntax(name) {
        reasons.push(SYNTAX);
    }
    format!("invalid catalog name: {}", reasons.join("; "))
}

/// Returns an error as Go's `http.Error` writes it.
fn error(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(body::full(format!("{message}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn not_found() -> Response<Body> {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

fn with_type(media_type: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(body::full(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn of_page(page: Result<Page, PageError>) -> Response<Body> {
    let (status, text) = match page {
        Ok(Page::Found(text)) => (StatusCode::OK, text),
        Ok(Page::NotFound(text)) => (StatusCode::NOT_FOUND, text),
        Err(failure) => return error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    };
    let mut response = with_type("text/html; charset=utf-8", text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Returns a package's icon. It comes from the catalog: only images are shown, and an SVG cannot run scripts.
fn icon(snapshot: &CatalogSnapshot, package: &str) -> Response<Body> {
    let found = match snapshot.catalog.package_icon(package) {
        Ok(Some(found)) => found,
        Ok(None) => return not_found(),
        Err(failure) => return error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    };
    let (data, media_type) = found;
    let media_type = match media_type {
        "image/svg+xml" => "image/svg+xml",
        "image/png" => "image/png",
        "image/jpeg" | "image/jpg" => "image/jpeg",
        "image/gif" => "image/gif",
        "image/webp" => "image/webp",
        _ => return not_found(),
    };
    let mut response = with_type(media_type, data.into());
    let policy = HeaderValue::from_static(IMAGE_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Returns the drawing of a package's upgrade graph.
async fn graph(site: &Site, package: &str) -> Response<Body> {
    match site.graphs.svg(package).await {
        Ok(Some(drawing)) => {
            let mut response = with_type("image/svg+xml", drawing);
            let policy = HeaderValue::from_static(IMAGE_POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        Ok(None) => not_found(),
        Err(failure @ GraphError::Draw(_)) => error(StatusCode::UNPROCESSABLE_ENTITY, &failure.to_string()),
        Err(failure @ GraphError::Thread(_)) => {
            error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string())
        }
    }
}
