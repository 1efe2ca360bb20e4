//! A real control plane for tests: kube-apiserver and etcd from programs on this machine.
