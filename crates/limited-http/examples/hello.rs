//! Serves a greeting on <http://127.0.0.1:8080> until Ctrl-C.

use std::error::Error;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use limited_http::{Limits, RequestBody, Server};
use tokio::net::TcpListener;

async fn greet(request: Request<RequestBody>) -> Response<Full<Bytes>> {
    Response::new(Full::from(format!("hello, you asked for {}\n", request.uri().path())))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut limits = Limits::default();
    limits.connections_per_peer = Some(32);
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    let server = Server::new(listener, limits).on_error(|error| eprintln!("{error}"));
    let stop = async {
        // Without a handler for the signal, the process ends with it.
        let _ = tokio::signal::ctrl_c().await;
    };
    server.serve(greet, stop).await;
    Ok(())
}
