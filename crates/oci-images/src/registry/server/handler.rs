//! The response to a request: checks first, then what its method and path ask for.

use std::sync::Arc;

use http::header::RANGE;
use http::{HeaderName, HeaderValue, Method};

use super::access::Access;
use super::proxy::Proxy;
use super::response::{self, Failure, Request, Response};
use super::route::Route;
use super::store::Store;
use super::uploads::{self, Uploads};
use super::users::Users;
use super::{blobs, manifests};

/// What requests are answered from.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) access: Access,
    pub(crate) users: Option<Users>,
    pub(crate) store: Arc<Store>,
    pub(crate) uploads: Uploads,
    pub(crate) proxy: Option<Arc<Proxy>>,
}

/// Returns the response to `request`.
pub(crate) async fn handle(registry: &Registry, request: Request) -> Response {
    let mut response = match dispatch(registry, request).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    let version = HeaderName::from_static("docker-distribution-api-version");
    response.headers_mut().insert(version, HeaderValue::from_static("registry/2.0"));
    response
}

async fn dispatch(registry: &Registry, request: Request) -> Result<Response, Failure> {
    let Registry { access, users, store, uploads, proxy } = registry;
    access.check(request.method(), request.uri(), request.headers())?;
    if let Some(users) = users {
        users.check(request.headers()).await?;
    }
    if let Some(proxy) = proxy {
        proxy.check_loop(request.headers())?;
    }
    let route = Route::parse(request.uri().path())?;
    let method = request.method().clone();
    match (&method, route) {
        (&Method::GET | &Method::HEAD, Route::Root) => Ok(response::json(&serde_json::json!({}))),
        (&Method::GET, Route::Catalog) => manifests::catalog(store, &request),
        (&Method::GET, Route::Tags { name }) => manifests::tags(store, &name, &request),
        (&Method::GET, Route::Referrers { name, digest }) => {
            if let Some(proxy) = proxy {
                let last = uploads::query(request.uri()).remove("last");
                proxy.referrers(store, &name, &digest, last.as_deref()).await?;
            }
            manifests::referrers(store, &name, &digest, &request)
        }
        (&Method::GET | &Method::HEAD, Route::Manifest { name, reference }) => {
            if let Some(proxy) = proxy {
                proxy.manifest(store, &name, &reference).await?;
            }
            manifests::get(store, &name, &reference)
        }
        (&Method::PUT, Route::Manifest { name, reference }) => {
            manifests::put(store, &name, &reference, request).await
        }
        (&Method::DELETE, Route::Manifest { name, reference }) => manifests::delete(store, &name, &reference),
        (&Method::GET | &Method::HEAD, Route::Blob { name, digest }) => {
            let head = method == Method::HEAD;
            let range = request.headers().get(RANGE).cloned();
            match proxy {
                Some(proxy) => blobs::get_through(proxy, store, &name, &digest, head, range).await,
                None => blobs::get(store, &name, &digest, head, range).await,
            }
        }
        (&Method::DELETE, Route::Blob { name, digest }) => blobs::delete(store, &name, &digest),
        (&Method::POST, Route::Uploads { name }) => uploads.start(store, &name, request).await,
        (&Method::GET, Route::Upload { name, id }) => uploads.status(&name, &id).await,
        (&Method::PATCH, Route::Upload { name, id }) => uploads.append(&name, &id, request).await,
        (&Method::PUT, Route::Upload { name, id }) => uploads.finish(store, &name, &id, request).await,
        (&Method::DELETE, Route::Upload { name, id }) => uploads.cancel(&name, &id),
        _ => Err(Failure::unsupported(&method)),
    }
}
