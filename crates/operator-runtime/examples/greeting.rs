//! A whole operator, in one file: the example of the README.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{CustomResource, ResourceExt};
use operator_runtime::cli::NoArgs;
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::conditions::Status;
use operator_runtime::controller::{Child, Children, Error, Observed, Reconciler, Watches};
use operator_runtime::crd::Crd;
use operator_runtime::{Identity, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Desired state of a Greeting.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Greeting",
    namespaced,
    status = "GreetingStatus",
    derive = "Default"
)]
struct GreetingSpec {
    /// Who is greeted.
    name: String,
}

/// Observed state of a Greeting.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct GreetingStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
}
impl Status for GreetingStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

struct Greetings {
    text: Child<ConfigMap>,
}

impl Greetings {
    fn new(watches: &mut Watches<Greeting>) -> Self {
        Self { text: watches.child() }
    }
}

impl Reconciler for Greetings {
    type Object = Greeting;
    type Status = GreetingStatus;
    type External = ();

    fn desired(&self, greeting: &Greeting, _: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let text = ConfigMap {
            metadata: ObjectMeta { name: Some(greeting.name_any()), ..ObjectMeta::default() },
            data: Some([("text".to_owned(), format!("Hello, {}!", greeting.spec.name))].into()),
            ..ConfigMap::default()
        };
        children.add(self.text, text);
        Ok(children)
    }

    fn status(&self, greeting: &Greeting, observed: &Observed<Self>) -> GreetingStatus {
        let written = observed.child(self.text, &greeting.name_any()).is_some();
        let mut status = observed.draft();
        status.set(
            "Available",
            if written { True } else { False },
            "Written",
            "The ConfigMap contains the text",
        );
        status.degraded(observed.problem());
        status.finish()
    }
}

const IDENTITY: Identity = Identity {
    name: "greeting-operator",
    group: "example.com",
    version: "1.0.0",
    about: "Greets",
    image: "example.com/greeting-operator",
};

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, |_: &NoArgs| {
        Operator::new(IDENTITY).crd(Crd::new::<Greeting>()).controller(Greetings::new)
    })
}
