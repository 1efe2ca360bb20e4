//! Services.

use super::metadata;

/// The template of a Service.
#[must_use]
pub(crate) fn template() -> String {
    TEMPLATE.replace("$metadata", &metadata::template("$dns1035"))
}

const TEMPLATE: &str = r#"
apiVersion: '$v[["v1"],["v1beta9","v3"]]'
kind: Service
metadata: $metadata
spec:
  $one:
  - type: '$v[["ClusterIP"],["x","clusterIP","ExternalName"]]'
    "clusterIP?": '$v[["","None"],["a","10.0.0.256","none","10.0.0.1/8"]]'
  - type: '$v[["ClusterIP"],["x"]]'
    clusterIP: None
    "clusterIPs?": '$v[[["None"]],[["None","a"],["a"],["10.96.0.77","10.96.0.78","10.96.0.79"],[""]]]'
    "ipFamilies?": '$v[[["IPv4"]],[["IPv5"],["ipv4"],["IPv4","IPv4"],["IPv4","IPv6","IPv4"],[""]]]'
    "ipFamilyPolicy?": '$v[["SingleStack","PreferDualStack"],["x","singleStack",""]]'
  - type: '$v[["NodePort"],["nodePort",""]]'
    "externalTrafficPolicy?": '$of(Cluster,Local)'
  - type: '$v[["LoadBalancer"],["loadBalancer"]]'
    "externalTrafficPolicy?": '$of(Cluster,Local)'
    "loadBalancerClass?": '$v[["example.com/a"],["","a b","-a"]]'
    "loadBalancerSourceRanges?": ['$cidr']
    "allocateLoadBalancerNodePorts?": $bool
    "loadBalancerIP?": '$v[["10.0.0.1"],[7]]'
    "healthCheckNodePort?": '$v[[],[30999,-1,65536,"a"]]'
  - type: '$v[["ExternalName"],["externalname"]]'
    externalName: '$v[["example.com","a.b."],["","a_b.c","A b","-a","a..b","10.0.0.1:80"]]'
  selector: $labels
  ports:
  - name: '$v[["web"],["","A","a.b","a_b","metrics"]]'
    port: $port
    "targetPort?": $port-or-name
    "protocol?": '$of(TCP,UDP,SCTP)'
    "appProtocol?": '$v[["http","example.com/a","kubernetes.io/h2c"],["a b","","-a"]]'
    "nodePort?": '$v[[0],[30000.5,"30000",2147483648]]'
  - $maybe: {name: '$v[["metrics"],["","A","a.b","web"]]', port: 9443}
  "sessionAffinity?": '$v[["None"],["x","clientIP","client"]]'
  "externalIPs?": '$v[[["10.0.0.1"],["192.168.1.1","192.168.1.2"]],[["a"],[""],["127.0.0.1"],["169.254.1.1"],["0.0.0.0"],["::1"],["224.0.0.1"],["10.0.0.1","10.0.0"]]]'
  "internalTrafficPolicy?": '$of(Cluster,Local)'
  "publishNotReadyAddresses?": $bool
  "trafficDistribution?": '$v[["PreferClose"],["","x","preferClose"]]'
"#;

/// A Service with sticky sessions, apart because its parts need each other.
pub(crate) const STICKY: &str = r#"
apiVersion: '$v[["v1"],["v1beta9","v3"]]'
kind: Service
metadata: {name: sticky, "annotations?": {service.kubernetes.io/topology-mode: Auto, service.kubernetes.io/topology-aware-hints: '$v[["Auto"],["Disabled","a"]]'}}
spec:
  sessionAffinity: '$v[["ClientIP"],["None","x","clientIP"]]'
  "sessionAffinityConfig?": {clientIP: {timeoutSeconds: '$v[[1,86400],[0,86401,-1,"5"]]'}}
  ports: [{port: $port, "name?": '$v[["a"],["A","-a","a b"]]', "nodePort?": '$v[[],[30001,31000,30000]]'}]
"#;
