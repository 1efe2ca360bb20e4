//! A small gRPC client: what a health probe and tests need.

use std::io;

use bytes::Bytes;
use http::uri::PathAndQuery;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::{TcpStream, ToSocketAddrs};
use tonic::Status;
use tonic::body::Body;

use super::grpc::RawCodec;

/// The maximum size of a message that is received, in bytes.
const MAX_MESSAGE: usize = 256 << 20;

/// A connection to a gRPC server, without TLS.
#[derive(Debug, Clone)]
pub struct Client {
    sender: http2::SendRequest<Body>,
}

/// Sends requests on the connection.
struct Channel(http2::SendRequest<Body>);

impl tonic::client::GrpcService<Body> for Channel {
    type ResponseBody = hyper::body::Incoming;
    type Error = hyper::Error;
    type Future = std::pin::Pin<
        Box<dyn Future<Output = Result<http::Response<hyper::body::Incoming>, hyper::Error>> + Send>,
    >;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

impl Client {
    /// Connects to a server.
    ///
    /// # Errors
    /// The server cannot be reached, or does not speak HTTP/2.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let handshake = http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(io::Error::other)?;
        // Its errors are those of the calls.
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    fn grpc(&self) -> tonic::client::Grpc<Channel> {
        let origin = http::Uri::from_static("http://localhost");
        let grpc = tonic::client::Grpc::with_origin(Channel(self.sender.clone()), origin);
        grpc.max_decoding_message_size(MAX_MESSAGE)
    }

    /// Calls a method that returns one message.
    ///
    /// # Errors
    /// The server's status, or `UNAVAILABLE`.
    pub async fn call(&self, path: &'static str, request: &impl Message) -> Result<Bytes, Status> {
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let request = tonic::Request::new(Bytes::from(request.encode_to_vec()));
        let response = grpc.unary(request, PathAndQuery::from_static(path), RawCodec).await?;
        Ok(response.into_inner())
    }

    /// Calls a method that returns a stream of messages, with these additional headers, and returns all of them.
    ///
    /// # Errors
    /// The server's status, or `UNAVAILABLE`.
    pub async fn list(
        &self,
        path: &'static str,
        request: &impl Message,
        headers: &[(&'static str, &'static str)],
    ) -> Result<Vec<Bytes>, Status> {
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let mut request = tonic::Request::new(Bytes::from(request.encode_to_vec()));
        for (name, value) in headers {
            request.metadata_mut().insert(*name, tonic::metadata::MetadataValue::from_static(value));
        }
        let response = grpc.server_streaming(request, PathAndQuery::from_static(path), RawCodec).await?;
        let mut stream = response.into_inner();
        let mut messages = Vec::new();
        while let Some(message) = stream.message().await? {
            messages.push(message);
        }
        Ok(messages)
    }

    /// Calls a method to which a stream of messages is sent, and returns all that come back.
    ///
    /// # Errors
    /// The server's status, or `UNAVAILABLE`.
    pub async fn converse(&self, path: &'static str, requests: Vec<Bytes>) -> Result<Vec<Bytes>, Status> {
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let request = tonic::Request::new(futures::stream::iter(requests));
        let mut stream =
            grpc.streaming(request, PathAndQuery::from_static(path), RawCodec).await?.into_inner();
        let mut messages = Vec::new();
        while let Some(message) = stream.message().await? {
            messages.push(message);
        }
        Ok(messages)
    }
}
