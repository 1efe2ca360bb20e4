//! The headless Service that gives clients one stable name for all servers.

use super::validate::Wanted;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub(super) fn service(wanted: &Wanted) -> Service {
    Service {
        metadata: wanted.metadata(),
        spec: Some(ServiceSpec {
            // Memcached's clients hash keys over the servers themselves, so they want every address.
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![ServicePort {
                name: Some("memcached".to_owned()),
                port: wanted.port,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String("memcached".to_owned())),
                ..ServicePort::default()
            }]),
            selector: Some(wanted.selector()),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}
