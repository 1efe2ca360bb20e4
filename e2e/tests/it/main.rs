//! The tests against a cluster, as one program: each file of its own would be linked with all of kube again.
//!
//! They run one after another in the order of their names (`--test-threads=1`): [`without_olm`], which removes OLM, is last.

mod browse;
mod catalog_verdicts;
mod clients;
mod control_plane;
mod deploy;
mod install_modes;
mod mirror;
mod olm_verdicts;
mod operator;
mod render_manifests;
mod run_bundle;
mod scaffold;
mod scorecard;
mod serve;
mod serve_opm;
mod verdicts;
mod whole_way;
mod without_olm;
