//! Trying a login before it is stored.

use reqwest::{Method, StatusCode};

use super::auth::Credentials;
use super::error::{Action, Error};
use super::http::Request;
use super::options::Options;
use super::session::Session;
use crate::blocking::blocking;
use crate::reference::Reference;

/// What a registry did with credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Login {
    /// It accepted them.
    Accepted,
    /// It did not ask for any.
    NotRequired,
}

/// Tries `credentials` at `registry` (host, or host and port).
///
/// # Errors
///
/// [`Error::Denied`] if the registry does not accept them; otherwise as
/// [`Repository::for_reading`](super::Repository::for_reading).
pub async fn log_in(registry: &str, credentials: Credentials, options: &Options) -> Result<Login, Error> {
    let reference = Reference::to_registry(registry);
    let options = options.started();
    let new = move || Session::new(&reference, &options, credentials, Action::Pull, None);
    let session = blocking(new).await?;
    let ping = Request::new(Method::GET, session.http.policy.registry().clone());
    let try_it = async {
        let response = session.run(|| session.http.send(&ping, None)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(Login::NotRequired);
        }
        drop(response);
        session.log_in().await?;
        session.run(|| session.expect(&ping, &[StatusCode::OK])).await?;
        Ok(Login::Accepted)
    };
    try_it.await.map_err(|failure| session.error(failure, "answer", "the login"))
}
