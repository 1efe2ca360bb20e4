//! Deployments of a CSV's install strategy: `{name, label, spec}`, with everything that a pod template can say.

/// The template. Names that other fields refer to stay as they are; each is changed where it is referred to.
pub(crate) const TEMPLATE: &str = r#"
name: $short-label
"label?": $labels
spec:
  "replicas?": '$int(0,)'
  "minReadySeconds?": '$int(0,10)'
  "progressDeadlineSeconds?": '$v[[60,600],[0,5,10,-1,"60",2147483648]]'
  "revisionHistoryLimit?": '$v[[0,5],["5",2147483648,1.5]]'
  "paused?": $bool
  "strategy?":
    $one:
    - {type: '$v[["Recreate"],["Unknown","recreate"]]'}
    - type: '$v[["RollingUpdate"],["Recreate","rolling"]]'
      rollingUpdate: {maxSurge: $percent, "maxUnavailable?": '$v[[0,"0%"],[-1,"101%","5"]]'}
  selector: {matchLabels: {app: '$v[["gizmo"],["other","a b",""]]'}, "matchExpressions?": [{key: '$v[["app"],["","a b","other"]]', operator: '$v[["Exists"],["DoesNotExist","In","NotIn","exists",""]]'}]}
  template:
    metadata:
      labels: {app: '$v[["gizmo"],["other","a b"]]', "tier?": $label-value}
      "annotations?": $pod-annotations
    spec:
      "serviceAccountName?": '$v[["gizmo-operator"],["Gizmo","a_b","a b","-a"]]'
      "automountServiceAccountToken?": $bool
      "restartPolicy?": '$v[["Always"],["Never","OnFailure","always","x"]]'
      "terminationGracePeriodSeconds?": '$v[[30,40],[-5,"30",9223372036854775808]]'
      "activeDeadlineSeconds?": '$v[[],[5,0,-1,2147483648]]'
      "dnsPolicy?": '$v[["ClusterFirst","Default","ClusterFirstWithHostNet"],["None","x","clusterFirst"]]'
      "dnsConfig?":
        "nameservers?": ['$ip']
        "searches?": ['$v[["example.com","a.b.","_a.b"],["a b","","-a","a..b"]]']
        "options?": [{name: '$v[["ndots"],[""]]', "value?": '$v[["2"],[2]]'}]
      "nodeSelector?": $labels
      "nodeName?": '$v[["node1"],["A","a b","-a"]]'
      "schedulerName?": '$v[["default-scheduler","a b"],[]]'
      "priorityClassName?": '$v[["system-node-critical","high"],["A b","-a","A"]]'
      "runtimeClassName?": '$v[["gvisor"],["","A","a b"]]'
      "preemptionPolicy?": '$of(PreemptLowerPriority,Never)'
      "enableServiceLinks?": $bool
      "setHostnameAsFQDN?": $bool
      "hostname?": '$v[["a","gizmo-1"],["A","a.b","-a","a b"]]'
      "subdomain?": '$v[["a","gizmo-1"],["A","a.b","-a","a b"]]'
      "ephemeralContainers?": '$v[[],[[{"name":"a","image":"a"}]]]'
      "resources?": '$v[[],[{"limits":{"example.com/a":"1"}},{"requests":{"cpu":"a"}},{"requests":{"cpu":"1m"},"limits":{"cpu":"1m"}},{"limits":{"storage":"1"}}]]'
      "hostIPC?": '$v[[true,false],["true",1]]'
      "$one?":
      - {hostNetwork: true, hostUsers: '$v[[true],[false]]'}
      - {hostPID: true, shareProcessNamespace: '$v[[false],[true,"true"]]'}
      - {hostUsers: '$v[[true],["true",1]]'}
      "imagePullSecrets?": [{name: '$v[["a"],[7]]'}]
      "hostAliases?": [{ip: $ip, "hostnames?": ['$v[["a","a.b"],["A b","","-a","a_b"]]']}]
      "readinessGates?": [{conditionType: '$v[["example.com/ready","Ready"],["","a b","-a","a/b/c"]]'}]
      "schedulingGates?": [{name: '$v[["example.com/gate","a"],["","a b","-a"]]'}]
      "overhead?": '$v[[{"cpu":"1"}],[{"cpu":"-1"},{"cpu":"a"},{"a b":"1"},{"example":"1"}]]'
      "securityContext?":
        "runAsUser?": '$int64(0,)'
        "runAsGroup?": '$int64(0,)'
        "fsGroup?": '$int64(0,)'
        "runAsNonRoot?": $bool
        "supplementalGroups?": ['$int64(0,)']
        "supplementalGroupsPolicy?": '$of(Merge,Strict)'
        "fsGroupChangePolicy?": '$of(Always,OnRootMismatch)'
        "sysctls?": [{name: $sysctl, value: '$v[["1"],[1]]'}]
        "seccompProfile?": {$one: [{type: '$v[["RuntimeDefault","Unconfined"],["Localhost","","x"]]'}, {type: '$v[["Localhost"],["RuntimeDefault","Unconfined"]]', localhostProfile: '$v[["a/b.json"],["","/a","../a"]]'}]}
        "appArmorProfile?": {$one: [{type: '$v[["RuntimeDefault","Unconfined"],["Localhost","","x"]]'}, {type: '$v[["Localhost"],["RuntimeDefault"]]', localhostProfile: '$v[["a"],[""," a"," "]]'}]}
        "seLinuxChangePolicy?": '$v[["Recursive"],["MountOption","x","recursive",""]]'
        "windowsOptions?": {"gmsaCredentialSpecName?": '$v[["a"],["A b",""]]', "runAsUserName?": '$v[["a"],["","a/b","a:b"," ","a\\b\\c"]]', "gmsaCredentialSpec?": '$v[["a"],[""]]'}
      "tolerations?":
      - $one:
        - {operator: '$v[["Exists"],["Equal","exists","In"]]', "effect?": '$of(NoSchedule,PreferNoSchedule,NoExecute)'}
        - {key: $key, operator: '$v[["Equal"],["exists","In","x"]]', value: $label-value}
        - {key: '$v[["a"],["a b","-a"]]', operator: '$v[["Exists"],["Equals"]]', effect: '$v[["NoExecute"],["NoSchedule","x",""]]', tolerationSeconds: '$v[[0,60,-1],["60"]]'}
        - {key: '$v[["a"],["a b"]]', operator: '$v[["Exists"],["x"]]', value: '$v[[""],["b"]]'}
      "topologySpreadConstraints?":
      - maxSkew: '$int(1,)'
        topologyKey: '$v[["zone","example.com/a"],["","a b","-a"]]'
        whenUnsatisfiable: '$v[["DoNotSchedule"],["ScheduleAnyway2","x",""]]'
        "labelSelector?": '$v[[{"matchLabels":{"a":"b"}}],[{"matchLabels":{"a b":"c"}},{"matchLabels":{"a":"b c"}},{"matchExpressions":[{"key":"a","operator":"In"}]},{"matchExpressions":[{"key":"a","operator":"x"}]},{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}]]'
        "minDomains?": '$int(1,)'
        "nodeAffinityPolicy?": '$of(Honor,Ignore)'
        "nodeTaintsPolicy?": '$of(Honor,Ignore)'
      - $maybe: {maxSkew: 1, topologyKey: '$v[["rack"],["",7]]', whenUnsatisfiable: '$v[["ScheduleAnyway"],["x",""]]', labelSelector: {matchLabels: {a: b}}, matchLabelKeys: ['$v[["pod-template-hash"],["a","a b",""]]']}
      "affinity?":
        "nodeAffinity?":
          "requiredDuringSchedulingIgnoredDuringExecution?":
            nodeSelectorTerms:
            - $one:
              - matchExpressions:
                - $one:
                  - {key: $key, operator: '$v[["In","NotIn"],["Exists","Gt","x","","in"]]', values: [$label-value]}
                  - {key: $key, operator: '$v[["Gt","Lt"],["Exists","x","gt"]]', values: ['$v[["1"],["a","1.5",""]]']}
                  - {key: $key, operator: '$v[["Exists","DoesNotExist"],["In","Gt","x"]]'}
              - matchFields: [{key: '$v[["metadata.name"],["metadata.uid","spec.nodeName",""]]', operator: '$v[["In","NotIn"],["Exists","Gt","x"]]', values: ['$v[["node1"],["A b","-a"]]']}]
          "preferredDuringSchedulingIgnoredDuringExecution?":
          - weight: '$v[[1,100],[0,101,-1,"5"]]'
            preference: {matchExpressions: [{key: $key, operator: '$v[["Exists"],["In","x"]]'}]}
        "podAffinity|podAntiAffinity?":
          "requiredDuringSchedulingIgnoredDuringExecution?":
          - topologyKey: '$v[["zone","kubernetes.io/hostname"],["","a b","-a"]]'
            "labelSelector?": $selector
            "namespaceSelector?": $selector
            "namespaces?": [$label]
          - $maybe: {topologyKey: zone, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: ['$v[["b"],["a b",""]]'], "mismatchLabelKeys?": ['$v[["c"],["b","a b",""]]']}
          "preferredDuringSchedulingIgnoredDuringExecution?":
          - weight: '$v[[1,100],[0,101,-1,"5"]]'
            podAffinityTerm: {topologyKey: '$v[["zone"],["","a b"]]', "labelSelector?": $selector}
      "resourceClaims?": [{name: '$v[["claim"],["","A","a.b"]]', $one: [{resourceClaimName: $subdomain}, {resourceClaimTemplateName: $subdomain}]}]
      "initContainers?":
      - name: '$v[["prepare"],["","A","a.b","manager"]]'
        image: $image
        "restartPolicy?": '$v[["Always"],[]]'
        "livenessProbe?": '$v[[],[{"exec":{"command":["a"]}},{},"a",{"exec":{}},["a"]]]'
        "lifecycle?": '$v[[],[{"preStop":{"exec":{"command":["a"]}}},{"preStop":{}},"a",{"postStart":{"exec":{}}},["a"]]]'
        "args?": [$text]
        "env?": [{name: $env-name, value: $text}]
      containers:
      - name: '$v[["manager"],["","A","a.b","a_b","-a","prepare2-"]]'
        image: $image
        "imagePullPolicy?": '$of(Always,IfNotPresent,Never)'
        "command?": [$text]
        "args?": [$text]
        "workingDir?": $text
        "restartPolicy?": '$v[["Always"],[]]'
        "terminationMessagePath?": '$v[["/dev/termination-log"],[7]]'
        "terminationMessagePolicy?": '$of(File,FallbackToLogsOnError)'
        "stdin?": $bool
        "tty?": $bool
        "ports?":
        - {containerPort: $port, "name?": $port-name, "protocol?": '$of(TCP,UDP,SCTP)', "hostIP?": $text}
        - {containerPort: 9999, name: '$v[["other"],["A","a--b","1234"]]', "hostPort?": '$v[[9999],[-1,65536,100000,"a"]]'}
        - $maybe: {containerPort: 9998, name: '$v[["twin"],["other","Twin"]]'}
        env:
        - {name: $env-name, value: $text}
        - $maybe:
            name: FROM
            valueFrom:
              $one:
              - fieldRef: {fieldPath: '$v[["metadata.name","metadata.labels[''a'']","spec.nodeName","status.podIP","metadata.annotations[''olm.targetNamespaces'']","status.hostIPs"],["","metadata","spec.x","status.phase","metadata.labels","metadata.labels[a]","metadata.labels[''a b'']","name","metadata.name[''a'']"]]', "apiVersion?": '$v[["v1"],["v2","apps/v1"]]'}
              - resourceFieldRef: {resource: '$v[["limits.cpu"],["","cpu","limits","limits.foo","limits.hugepages-2Mi2","requests"]]', "divisor?": '$v[["1","1m","0"],["2","1k","a","-1"]]', "containerName?": '$v[["manager"],[7]]'}
              - resourceFieldRef: {resource: '$v[["requests.memory","limits.ephemeral-storage"],["memory","memory.limits"]]', "divisor?": '$v[["1Mi","1","1k"],["1m","2","100m"]]'}
              - configMapKeyRef: {name: '$v[["a"],["A","a b","-a"]]', key: $config-key, "optional?": $bool}
              - secretKeyRef: {name: '$v[["a"],["A","a b","-a"]]', key: $config-key, "optional?": $bool}
        "envFrom?":
        - {"prefix?": '$v[["A_","a"],["a=b","="]]', $one: [{configMapRef: {name: '$v[["a"],["A","a b","-a"]]', "optional?": $bool}}, {secretRef: {name: '$v[["a"],["A","a b"]]', "optional?": $bool}}]}
        "resources?":
          "limits?": '$v[[{"cpu":"2","memory":"1Gi"},{"example.com/gpu":"2","cpu":"1"},{"ephemeral-storage":"1Gi","cpu":2}],[{"cpu":"-1"},{"cpu":"a"},{"foo":"1"},{"a b":"1"},{"memory":"1GiB"},{"pods":"1"},{"cpu":""},{"cpu":true},{"requests.cpu":"1"},{"example.com/gpu":"1.5"},{"hugepages-2Mi":"1Mi","cpu":"1"},{"hugepages-2Mi":"2Mi"}]]'
          "requests?": '$v[[{"cpu":"1","memory":"1Mi"},{"cpu":"500m"},{"ephemeral-storage":"1Mi"}],[{"cpu":"-1"},{"cpu":"100"},{"foo":"1"},{"example.com/gpu":"1"},{"memory":"2GiB"},{"cpu":"1 "},{"storage":"1Gi"},{"kubernetes.io/a":"1"}]]'
        "resizePolicy?": [{resourceName: '$v[["cpu","memory"],["storage","","CPU"]]', restartPolicy: '$v[["NotRequired","RestartContainer"],["Always","","x"]]'}]
        "volumeMounts?":
        - {name: '$v[["data"],["","other","Data"]]', mountPath: '$v[["/data","data","C:/a"],["","/a:b:c:d"]]', "readOnly?": $bool, "subPath?": '$v[["a","a/b"],["/a","../a","a/.."]]', "mountPropagation?": '$v[["None","HostToContainer"],["Bidirectional","x"]]'}
        - $maybe: {name: data, mountPath: '$v[["/expr"],["","/data"]]', subPathExpr: '$v[["$(A)","a"],["/a","../$(A)"]]', "subPath?": '$v[[""],["b"]]'}
        - $maybe: {name: data, mountPath: /ro, readOnly: '$v[[true],[false]]', recursiveReadOnly: '$v[["IfPossible","Enabled","Disabled"],["x","","enabled"]]'}
        "volumeDevices?": [{name: '$v[["claim"],["data","","other"]]', devicePath: '$v[["/dev/a"],["","../a","/a/../b"]]'}]
        "livenessProbe|startupProbe?":
          $one:
          - exec: {command: ['$text']}
          - httpGet: {"path?": '$v[["/a","a"],[7]]', port: $port-or-name, "scheme?": '$of(HTTP,HTTPS)', "host?": $text, "httpHeaders?": [{name: '$v[["X-A","Host"],["","a b","a:b","X A"]]', value: $text}]}
          - tcpSocket: {port: $port-or-name, "host?": $text}
          - grpc: {port: '$port', "service?": $text}
          "initialDelaySeconds?": '$int(0,)'
          "timeoutSeconds?": '$int(0,)'
          "periodSeconds?": '$int(0,)'
          "successThreshold?": '$v[[1],[2,-1,3]]'
          "failureThreshold?": '$int(0,)'
          "terminationGracePeriodSeconds?": '$int64(1,)'
        "readinessProbe?":
          $one:
          - httpGet: {"path?": '$v[["/ready"],[7]]', port: $port-or-name}
          - tcpSocket: {port: $port-or-name}
          "initialDelaySeconds?": '$int(0,)'
          "periodSeconds?": '$int(0,)'
          "successThreshold?": '$int(0,)'
          "terminationGracePeriodSeconds?": '$v[[],[1,10,0]]'
        "lifecycle?":
          "postStart|preStop?":
            $one:
            - exec: {command: ['$text']}
            - httpGet: {port: $port-or-name, "path?": '$v[["/a"],[7]]', "scheme?": '$of(HTTP,HTTPS)'}
            - sleep: {seconds: '$v[[0,5,30],[-1,100,31000,"5"]]'}
          "stopSignal?": '$v[["SIGTERM"],[]]'
        "securityContext?":
          "runAsUser?": '$int64(0,)'
          "runAsGroup?": '$int64(0,)'
          "runAsNonRoot?": $bool
          "$one?":
          - {privileged: true, allowPrivilegeEscalation: '$v[[true],[false,"true"]]'}
          - {allowPrivilegeEscalation: false, privileged: '$v[[false],[true]]'}
          - {privileged: $bool}

          "readOnlyRootFilesystem?": $bool
          "procMount?": '$v[["Default"],["default","Unmasked","x"]]'
          "capabilities?": {"add?": ['$v[["NET_ADMIN"],[7]]'], "drop?": ['$v[["ALL"],[7]]']}
          "seccompProfile?": {$one: [{type: '$v[["RuntimeDefault","Unconfined"],["Localhost","","x"]]'}, {type: '$v[["Localhost"],["RuntimeDefault"]]', localhostProfile: '$v[["a"],["","/a","../a"]]'}]}
          "appArmorProfile?": {type: '$v[["RuntimeDefault","Unconfined"],["Localhost","","x"]]'}
          "seLinuxOptions?": {"level?": '$v[["s0"],[7]]', "type?": '$v[["a"],[7]]'}
          "windowsOptions?": {"runAsUserName?": '$v[["a"],["","a/b","a:b"]]', "hostProcess?": '$v[[false],[true]]'}
      - $maybe: {name: '$v[["sidecar"],["manager","A",""]]', image: $image, "imagePullPolicy?": '$of(Always,Never)'}
      volumes:
      - {name: '$v[["data"],["","A","a.b","-a"]]', $one: [
          {emptyDir: {"medium?": '$v[["","Memory","x"],[]]', "sizeLimit?": '$v[["1Gi","0"],["-1","a","1GiB"]]'}},
          {hostPath: {path: '$v[["/a"],["","/a/../b",".."]]', "type?": '$of(,Directory,File,Socket,DirectoryOrCreate,FileOrCreate,CharDevice,BlockDevice)'}},
          {secret: {secretName: '$v[["a"],["",7]]', "defaultMode?": '$v[[0,420,511],[-1,512,"420"]]', "optional?": $bool, "items?": [{key: '$v[["a"],[""]]', path: $relative, "mode?": '$v[[0,511],[-1,512]]'}]}},
          {configMap: {name: '$v[["a"],["",7]]', "defaultMode?": '$v[[0,420,511],[-1,512]]', "items?": [{key: '$v[["a"],[""]]', path: $relative, "mode?": '$v[[0,511],[-1,512]]'}]}},
          {downwardAPI: {"defaultMode?": '$v[[0,420],[-1,512]]', "items?": [{path: $relative, "mode?": '$v[[0,511],[-1,512]]', $one: [
              {fieldRef: {fieldPath: '$v[["metadata.name","metadata.labels","metadata.annotations[''a'']"],["","spec.nodeName","status.podIP","metadata.labels[''a b'']","x"]]', "apiVersion?": '$v[["v1"],["v2"]]'}},
              {resourceFieldRef: {containerName: '$v[["manager"],["",7]]', resource: '$v[["limits.cpu","requests.memory"],["","cpu","limits.x"]]', "divisor?": '$v[["1"],["2","a","1n"]]'}}]}]}},
          {projected: {"defaultMode?": '$v[[0,420],[-1,512]]', sources: [{$one: [
              {secret: {name: '$v[["a"],["",7]]', "items?": [{key: '$v[["a"],[""]]', path: '$v[["p1"],["","/a","..","../a"]]'}]}},
              {configMap: {name: '$v[["a"],["",7]]', "items?": [{key: '$v[["a"],[""]]', path: '$v[["p2"],["","/a","../a"]]'}]}},
              {downwardAPI: {items: [{path: '$v[["p3"],["","/a","../a"]]', fieldRef: {fieldPath: '$v[["metadata.name"],["spec.x","","status.podIP"]]'}}]}},
              {serviceAccountToken: {path: '$v[["p4"],["","/a","../a"]]', "expirationSeconds?": '$v[[600,3600],[599,0,-1,4294967297]]', "audience?": '$text'}},
              {clusterTrustBundle: {path: '$v[["p5"],[]]', $one: [{name: '$v[["a","example.com:a:b"],[]]'}, {signerName: '$v[["example.com/a"],[]]', labelSelector: '$v[[{"matchLabels":{"a":"b"}}],["a",1,[]]]'}]}}]}]}},
          {persistentVolumeClaim: {claimName: '$v[["a"],["",7]]', "readOnly?": $bool}},
          {nfs: {server: '$v[["a"],["",7]]', path: '$v[["/a"],["","a","a/b"]]', "readOnly?": $bool}},
          {csi: {driver: '$v[["csi.example.com"],["","A b","-a"]]', "fsType?": ext4, "nodePublishSecretRef?": {name: '$v[["a"],["",7]]'}}},
          {ephemeral: {volumeClaimTemplate: {spec: {accessModes: ['$v[["ReadWriteOnce"],["x","","readWriteOnce"]]'], resources: {requests: '$v[[{"storage":"1Gi"}],[{"storage":"0"},{"storage":"-1"},{"storage":"a"},{}]]'}, "storageClassName?": '$v[["a"],["A b","-a"]]', "volumeMode?": '$of(Filesystem,Block)'}}}},
          {image: {"reference?": '$v[["example.com/a:1"],[]]', "pullPolicy?": '$v[["Always","Never"],[]]'}},
          {iscsi: {targetPortal: '$v[["10.0.0.1"],["",7]]', iqn: '$v[["iqn.2000-01.com.example:a","eui.02004567a425678d"],["naa.52004567ba64678d","","a","iqn.x","eui.a"]]', lun: '$v[[0,255],[-1,256]]', "initiatorName?": '$v[["iqn.2000-01.com.example:b"],["b","iqn.x"]]'}},
          {fc: {$one: [{targetWWNs: ['$v[["a"],[7]]'], lun: '$v[[0,255],[-1,256]]'}, {wwids: ['$v[["a"],[7]]']}]}},
          {azureFile: {secretName: '$v[["a"],["",7]]', shareName: '$v[["a"],["",7]]'}},
          {azureDisk: {diskName: '$v[["a"],["",7]]', diskURI: '$v[["https://example.com/a"],["a","","http://a"]]', "cachingMode?": '$of(None,ReadOnly,ReadWrite)', "kind?": '$v[["Shared","Dedicated"],["x","Managed"]]'}},
          {gcePersistentDisk: {pdName: '$v[["a"],["",7]]', "partition?": '$v[[0,255],[-1,256]]'}},
          {awsElasticBlockStore: {volumeID: '$v[["a"],["",7]]', "partition?": '$v[[0,255],[-1,256]]'}},
          {rbd: {monitors: ['$v[["a"],[7]]'], image: '$v[["a"],["",7]]', "pool?": a}},
          {cephfs: {monitors: ['$v[["a"],[7]]']}},
          {glusterfs: {endpoints: '$v[["a"],["",7]]', path: '$v[["a"],["",7]]'}},
          {flexVolume: {driver: '$v[["example.com/a"],["",7]]'}},
          {vsphereVolume: {volumePath: '$v[["a"],["",7]]'}},
          {cinder: {volumeID: '$v[["a"],["",7]]'}},
          {portworxVolume: {volumeID: '$v[["a"],["",7]]'}},
          {quobyte: {registry: '$v[["a:1","a:1,b:2"],["","a"]]', volume: '$v[["a"],["",7]]', "tenant?": '$v[["a"],[7]]'}},
          {scaleIO: {gateway: '$v[["a"],["",7]]', system: '$v[["a"],["",7]]', "secretRef": {name: '$v[["a"],[7]]'}, volumeName: '$v[["a"],["",7]]'}},
          {storageos: {volumeName: '$v[["a"],["","A b"]]', "volumeNamespace?": '$v[["a"],["A b"]]'}},
          {photonPersistentDisk: {pdID: '$v[["a"],["",7]]'}},
          {flocker: {$one: [{datasetName: '$v[["a"],["a/b",""]]'}, {datasetUUID: '$v[["a"],[""]]'}]}},
          {gitRepo: {repository: '$v[["a"],["",7]]', "directory?": '$v[["a"],["/a","../a"]]'}}
        ]}
      - {name: claim, persistentVolumeClaim: {claimName: '$v[["b"],["",7]]'}}
"#;

/// A Deployment whose fields say the same as its annotations, and are of the host's network.
pub(crate) const SMALL: &str = r#"
name: small
spec:
  selector: {matchLabels: {app: small}}
  template:
    metadata:
      labels: {app: small}
      "annotations?": {seccomp.security.alpha.kubernetes.io/pod: '$v[["runtime/default"],["unconfined","localhost/a"]]', container.apparmor.security.beta.kubernetes.io/manager: '$v[["runtime/default"],["unconfined","localhost/a"]]'}
    spec:
      "os?": {name: '$v[["linux"],["","mac","Linux","windows"]]'}
      hostNetwork: true
      securityContext: {seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: RuntimeDefault}}
      containers:
      - name: manager
        image: a
        ports:
        - {containerPort: 9443, hostPort: '$v[[9443],[9444,80]]'}
        - {containerPort: 8443, "hostPort?": '$v[[8443],[8444,9443]]', "name?": '$v[["a"],["A",""]]'}
      - {name: other, image: a, "ports?": [{containerPort: 7443, hostPort: '$v[[7443],[9443,7444]]'}]}
"#;
