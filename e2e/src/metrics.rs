//! A manager's metrics page, asked for as Prometheus does: over TLS, with a service account's token.

use crate::cluster::Cluster;
use crate::operator::Operator;
use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{GetParams, PostParams, Request};
use kube::client::Body;
use kube::{Api, Client, Config};
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;

const PORT: u16 = 8443;

impl Operator {
    /// What a pod of the manager answers to somebody with this token, or without one: the status code and the page.
    ///
    /// # Errors
    /// The pod cannot be reached.
    pub async fn metrics(
        &self,
        cluster: &Cluster,
        pod: &str,
        token: Option<String>,
    ) -> Result<(u16, String)> {
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), Self::NAMESPACE);
        let mut forwarder = pods.portforward(pod, &[PORT]).await?;
        let mut stream = forwarder.take_stream(PORT).context("no stream to the pod")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let forwarding = tokio::spawn(async move {
            if let Ok((mut connection, _)) = listener.accept().await {
                let _ = copy_bidirectional(&mut connection, &mut stream).await;
            }
        });
        let mut config = Config::new(format!("https://{address}").parse()?);
        // As the Go scaffold's ServiceMonitor: the manager makes its own certificate.
        config.accept_invalid_certs = true;
        config.auth_info.token = token.map(Into::into);
        let request = Request::new("").get("metrics", &GetParams::default())?;
        let answer = Client::try_from(config)?.send(request.map(Body::from)).await?;
        let code = answer.status().as_u16();
        let page = answer.into_body().collect_bytes().await?;
        forwarding.abort();
        Ok((code, String::from_utf8_lossy(&page).into_owned()))
    }
}

impl Cluster {
    /// A new service account and a token of it.
    ///
    /// # Errors
    /// The cluster rejects.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(name.to_owned());
        accounts.create(&PostParams::default(), &account).await?;
        let asked = TokenRequest { spec: TokenRequestSpec::default(), ..TokenRequest::default() };
        let given = accounts.create_token_request(name, &PostParams::default(), &asked).await?;
        Ok(given.status.context("no token was given")?.token)
    }
}
