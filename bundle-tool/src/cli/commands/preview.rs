//! `bundle-tool preview`: the page that validates and previews a bundle, for a directory that is edited.
//!
//! The page is the one of `web/`, which asks for `/preview/version` and, when that changes, for `/preview/files`. Building it needs
//! tools for WebAssembly, so it is in the program only with the feature `page`, which `make dist` enables after `make web`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::Args;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use limited_http::{Limits, RequestBody, Server};
use serde_json::json;
use tokio::net::TcpListener;

use crate::cli::bundles::bundle_of_project;
use crate::cli::exit::Exit;
use crate::cli::images::port;
use crate::cli::runtime::runtime;
use crate::cli::signals::Signals;
use crate::settings;
use crate::terminal::messages;
use kube_yaml::text::{printable, with_causes};
use olm_model::disk::Directory;
use olm_model::disk::file;
use olm_model::disk::format::{self, Format};
use olm_model::disk::walk::{Kind, Options};
use olm_model::disk::watch::{INTERVAL, Watch};
use olm_model::read::MAX_FILE_SIZE;
use olm_model::read::bundle::MAX_BUNDLE_SIZE;
use olm_rules::SETTINGS_FILE;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Preview the bundle in a directory while it is edited
  bundle-tool preview ./bundle

  # Use a page that was built from source
  bundle-tool preview ./bundle --page web/dist")]
pub(crate) struct Preview {
    /// Directory of a bundle or a catalog, or the root of a project with `bundle/`
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Port to listen on, on 127.0.0.1; 0 chooses a free port
    #[arg(long, short, value_name = "PORT", default_value_t = 0, value_parser = port)]
    port: u16,
    /// Directory of the page that `make web` built [default: the page in this program]
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
}

/// The files of the page, with their types.
const PAGE: [(&str, &str); 5] = [
    ("index.html", "text/html; charset=utf-8"),
    ("app.js", "text/javascript; charset=utf-8"),
    ("engine.js", "text/javascript; charset=utf-8"),
    ("style.css", "text/css; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
];

/// The contents of the files of the page in this program.
#[cfg(feature = "page")]
const EMBEDDED: Option<[&[u8]; PAGE.len()]> = Some([
    include_bytes!("../../../../web/dist/index.html"),
    include_bytes!("../../../../web/dist/app.js"),
    include_bytes!("../../../../web/dist/engine.js"),
    include_bytes!("../../../../web/dist/style.css"),
    include_bytes!("../../../../web/dist/icon.svg"),
]);
#[cfg(not(feature = "page"))]
const EMBEDDED: Option<[&[u8]; PAGE.len()]> = None;

/// The maximum number of files that the page gets.
const MAX_FILES: usize = 20_000;
/// The address of the version of the directory.
const VERSION: &str = "/preview/version";
/// The address of the files of the directory.
const FILES: &str = "/preview/files";

/// What is served.
struct Site {
    page: BTreeMap<&'static str, (&'static str, Bytes)>,
    directory: PathBuf,
    name: String,
    state: Mutex<State>,
}

/// What was seen of the directory.
struct State {
    watch: Watch,
    version: u64,
    looked: Instant,
}

impl Preview {
    pub(crate) fn run(self) -> Result<Exit> {
        let page = self.read_page()?;
        let directory = match bundle_of_project(&self.directory) {
            Some(bundle) => bundle,
            None => self.directory,
        };
        let shown = directory.display().to_string();
        match format::detect(&directory).with_context(|| format!("failed to read {shown}"))? {
            Format::Bundle | Format::Catalog if directory.is_dir() => {}
            _ => bail!("{shown} is not the directory of a bundle or a catalog"),
        }
        let name = directory.canonicalize().ok();
        let name = name
            .as_deref()
            .and_then(Path::file_name)
            .map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        let watch =
            Watch::new(vec![directory.clone()], options())?.with_files(settings::candidates(&directory))?;
        let state = Mutex::new(State { watch, version: 1, looked: Instant::now() });
        let site = Arc::new(Site { page, directory, name, state });
        let runtime = runtime()?;
        let exit = runtime.block_on(serve(site, self.port));
        runtime.shutdown_background();
        exit
    }

    fn read_page(&self) -> Result<BTreeMap<&'static str, (&'static str, Bytes)>> {
        let mut page = BTreeMap::new();
        for (index, (name, media_type)) in PAGE.into_iter().enumerate() {
            let bytes = match (&self.page, EMBEDDED) {
                (Some(directory), _) => {
                    let path = directory.join(name);
                    let bytes = file::read_in_project(&path, MAX_FILE_SIZE);
                    Bytes::from(bytes.with_context(|| format!("failed to read the page {}", path.display()))?)
                }
                (None, Some(embedded)) => Bytes::from_static(embedded[index]),
                (None, None) => bail!(
                    "this program was built without the page: build the page with `make web` and pass --page web/dist, or use a release"
                ),
            };
            page.insert(name, (media_type, bytes));
        }
        Ok(page)
    }
}

fn options() -> Options {
    Options { skip_hidden_directories: true, ..Options::default() }
}

async fn serve(site: Arc<Site>, port: u16) -> Result<Exit> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.with_context(|| format!("failed to listen on port {port}"))?;
    let server = Server::new(listener, Limits::default());
    let signals = Signals::listen()?;
    let shown = site.directory.display().to_string();
    let mut out = io::stdout().lock();
    writeln!(out, "http://{}/", server.address()?)?;
    out.flush()?;
    drop(out);
    writeln!(messages(), "previewing {shown}; press Ctrl-C to stop")?;
    let answer = move |request: Request<RequestBody>| {
        let site = Arc::clone(&site);
        async move {
            let (parts, _) = request.into_parts();
            // Files are read.
            let answer = move || site.answer(&parts.method, parts.uri.path(), &parts.headers);
            tokio::task::spawn_blocking(answer)
                .await
                .unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR, "the request failed"))
        }
    };
    signals.serve("requests", |stop| server.serve(answer, stop)).await
}

impl Site {
    fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        // A page of another site whose name leads to this machine must not read the files.
        if !headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(is_loopback) {
            return plain(StatusCode::FORBIDDEN, "expected the host 127.0.0.1 or localhost");
        }
        if method != Method::GET {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "expected GET");
        }
        let json = |value: &serde_json::Value| {
            response(StatusCode::OK, "application/json", Bytes::from(value.to_string()))
        };
        match path {
            VERSION => json(&json!({"version": self.version(), "name": self.name})),
            FILES => match self.files() {
                Ok(files) => json(&json!(files)),
                Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &with_causes(error.as_ref())),
            },
            _ => {
                let name = path.strip_prefix('/').filter(|name| !name.is_empty()).unwrap_or("index.html");
                match self.page.get(name) {
                    Some((media_type, bytes)) => response(StatusCode::OK, media_type, bytes.clone()),
                    None => plain(StatusCode::NOT_FOUND, "not found"),
                }
            }
        }
    }

    /// Looks whether the directory has changed, unless that was just done. A directory that is being replaced has not changed yet.
    fn version(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= INTERVAL / 2 {
            if state.watch.has_changed().unwrap_or(false) {
                state.version += 1;
            }
            state.looked = Instant::now();
        }
        state.version
    }

    /// Returns the files of the directory, as base64.
    ///
    /// # Errors
    /// The directory cannot be read, or has more than the page gets: without a part, it would report what is missing.
    fn files(&self) -> Result<BTreeMap<String, String>> {
        let directory = Directory::open(&self.directory)?;
        let mut files = BTreeMap::new();
        let mut rest = MAX_BUNDLE_SIZE;
        for entry in directory.walk(options())? {
            let Kind::File(size) = entry.kind else { continue };
            if files.len() >= MAX_FILES || size > rest {
                bail!(
                    "the directory has more than {MAX_FILES} files or {} MiB: preview a smaller one, or run `bundle-tool validate`",
                    MAX_BUNDLE_SIZE >> 20
                );
            }
            let bytes = directory
                .read(&entry.below, MAX_FILE_SIZE)
                .with_context(|| format!("failed to read {}", printable(&entry.name)))?;
            rest = rest.saturating_sub(bytes.len() as u64);
            files.insert(entry.name, STANDARD.encode(bytes));
        }
        // That of a directory above applies to this one, too.
        if let Some(path) = settings::find(&self.directory).filter(|_| !files.contains_key(SETTINGS_FILE)) {
            let bytes = settings::read_bytes(&path)
                .with_context(|| format!("failed to read {}", printable(&path.display().to_string())))?;
            files.insert(format!("../{SETTINGS_FILE}"), STANDARD.encode(bytes));
        }
        Ok(files)
    }
}

/// Returns whether the host of a request is this machine, with any port.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["127.0.0.1", "localhost"].contains(&name)
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", Bytes::from(format!("{text}\n")))
}

fn response(status: StatusCode, media_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The page has its policy itself; only this directive does not count there.
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_to_this_machine_are_answered() {
        for host in ["127.0.0.1:8080", "localhost", "localhost:1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost:x", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
