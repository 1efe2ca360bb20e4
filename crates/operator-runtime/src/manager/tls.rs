//! TLS with a certificate that may be replaced while connections are open.

use anyhow::Context as _;
use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The certificate that new connections use; open connections keep theirs.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    current: Arc<RwLock<Option<Arc<CertifiedKey>>>>,
}

impl Certificate {
    /// Replaces the certificate chain and its key.
    ///
    /// # Errors
    /// When they are not PEM, or the key does not belong to the certificate.
    pub fn set(&self, chain: &[u8], key: &[u8]) -> anyhow::Result<()> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .context("invalid certificate: expected PEM")?;
        let key = PrivateKeyDer::from_pem_slice(key).context("invalid private key: expected PEM")?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .context("the private key does not match the certificate, or its type is not supported")?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Whether there is a certificate to serve with.
    #[cfg(test)]
    pub(crate) fn is_set(&self) -> bool {
        self.current.read().unwrap().is_some()
    }

    /// Whether this is the certificate that new connections use.
    #[cfg(test)]
    pub(crate) fn serves(&self, pem: &[u8]) -> bool {
        let current = self.current.read().unwrap();
        current
            .as_ref()
            .is_some_and(|current| current.cert[0] == CertificateDer::from_pem_slice(pem).unwrap())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A listener whose connections have completed their TLS handshake; a slow client delays nobody else.
#[derive(Debug)]
pub struct TlsListener {
    connections: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Wraps a bound listener.
    ///
    /// # Errors
    /// When its address is unknown or TLS cannot be configured.
    pub fn new(listener: TcpListener, certificate: Certificate) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificate));
        // Without tickets no session outlives the certificate it began with.
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (sender, connections) = mpsc::channel(16);
        tokio::spawn(accept(listener, acceptor, sender));
        Ok(Self { connections, address })
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = sender.closed() => return,
        };
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    // The server may have stopped accepting connections.
                    let _ = sender.send((stream, peer)).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, %peer, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "a TLS handshake timed out"),
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.connections.recv().await {
            Some(connection) => connection,
            // The accepting task ends only after this listener is dropped.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
