// A bundle with some typical mistakes.

const CSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: lake-operator.v1.2.0
  annotations:
    alm-examples: '[{"apiVersion": "lakes.example.com/v1", "kind": "Lake", "metadata": {"name": "sample"}, "spec": {"depth": 12}}]'
    capabilities: Seamless Upgrades
    categories: Storage
    description: Fills lakes, and keeps their level.
spec:
  displayName: Lake Operator
  description: |
    ## Lakes in your cluster

    The operator *fills* lakes and keeps their level:

    - create a \`Lake\` with its depth
    - the operator fills it

    See [the documentation](https://lakes.example.com/).
  version: 1.2.0
  maturity: alpha
  provider:
    name: Example
  installModes:
  - type: OwnNamespace
    suported: true
  - type: SingleNamespace
    supported: true
  - type: MultiNamespace
    supported: false
  - type: AllNamespaces
    supported: true
  customresourcedefinitions:
    owned:
    - name: lakes.lakes.example.com
      kind: Lake
      version: v1
      displayName: Lake
      description: A lake that is kept at its level.
      specDescriptors:
      - path: depth
        displayName: Depth
        x-descriptors: ["urn:alm:descriptor:com.tectonic.ui:number"]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: lake-operator
        spec:
          replicas: 1
          selector:
            matchLabels: {app: lake-operator}
          template:
            metadata:
              labels: {app: lake-operater}
            spec:
              containers:
              - name: manager
                image: quay.io/example/lake-operator:v1.2.0
                resources:
                  requests: {cpu: 100m, memory: 64Mi}
`;

const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lakes.lakes.example.com
spec:
  group: lakes.example.com
  names: {kind: Lake, listKind: LakeList, plural: lakes, singular: lake}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              depth: {type: integer, minimum: 1, maximum: 400, description: The depth in meters.}
              shore: {type: string, enum: [sand, rock]}
`;

const ANNOTATIONS = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: lake-operator
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`;

export const EXAMPLE = {
  "manifests/lake-operator.clusterserviceversion.yaml": CSV,
  "manifests/lakes.crd.yaml": CRD,
  "metadata/annotations.yaml": ANNOTATIONS,
};
