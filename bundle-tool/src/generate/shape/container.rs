//! Containers: environment, probes, security.
//!
//! Source: `types.go` of `k8s.io/api/core/v1`, v0.34.

use super::fields::Shape::{Bool, Int, IntOrText, List, Map, Quantity, Struct, Text};
use super::fields::{Fields, given, keep, omit};

pub(super) static OBJECT_FIELD_SELECTOR: Fields =
    Fields::of(&[omit("apiVersion", Text), keep("fieldPath", Text)]);

pub(super) static RESOURCE_FIELD_SELECTOR: Fields =
    Fields::of(&[omit("containerName", Text), omit("divisor", Quantity), keep("resource", Text)]);

pub(super) static CONTAINER_PORT: Fields = Fields::of(&[
    keep("containerPort", Int),
    omit("hostIP", Text),
    omit("hostPort", Int),
    omit("name", Text),
    omit("protocol", Text),
]);

static CONFIG_MAP_ENV_SOURCE: Fields = Fields::of(&[omit("name", Text), given("optional", Bool)]);

static SECRET_ENV_SOURCE: Fields = Fields::of(&[omit("name", Text), given("optional", Bool)]);

pub(super) static ENV_FROM_SOURCE: Fields = Fields::of(&[
    given("configMapRef", Struct(&CONFIG_MAP_ENV_SOURCE)),
    omit("prefix", Text),
    given("secretRef", Struct(&SECRET_ENV_SOURCE)),
]);

static CONFIG_MAP_KEY_SELECTOR: Fields =
    Fields::of(&[keep("key", Text), omit("name", Text), given("optional", Bool)]);

static SECRET_KEY_SELECTOR: Fields =
    Fields::of(&[keep("key", Text), omit("name", Text), given("optional", Bool)]);

static FILE_KEY_SELECTOR: Fields =
    Fields::of(&[keep("key", Text), given("optional", Bool), keep("path", Text), keep("volumeName", Text)]);

static ENV_VAR_SOURCE: Fields = Fields::of(&[
    given("configMapKeyRef", Struct(&CONFIG_MAP_KEY_SELECTOR)),
    given("fieldRef", Struct(&OBJECT_FIELD_SELECTOR)),
    given("fileKeyRef", Struct(&FILE_KEY_SELECTOR)),
    given("resourceFieldRef", Struct(&RESOURCE_FIELD_SELECTOR)),
    given("secretKeyRef", Struct(&SECRET_KEY_SELECTOR)),
]);

pub(super) static ENV_VAR: Fields =
    Fields::of(&[keep("name", Text), omit("value", Text), given("valueFrom", Struct(&ENV_VAR_SOURCE))]);

static RESOURCE_CLAIM: Fields = Fields::of(&[keep("name", Text), omit("request", Text)]);

pub(super) static RESOURCE_REQUIREMENTS: Fields = Fields::of(&[
    omit("claims", List(&Struct(&RESOURCE_CLAIM))),
    omit("limits", Map(&Quantity)),
    omit("requests", Map(&Quantity)),
]);

pub(super) static CONTAINER_RESIZE_POLICY: Fields =
    Fields::of(&[keep("resourceName", Text), keep("restartPolicy", Text)]);

static CONTAINER_RESTART_RULE_ON_EXIT_CODES: Fields =
    Fields::of(&[omit("operator", Text), omit("values", List(&Int))]);

pub(super) static CONTAINER_RESTART_RULE: Fields =
    Fields::of(&[omit("action", Text), given("exitCodes", Struct(&CONTAINER_RESTART_RULE_ON_EXIT_CODES))]);

pub(super) static VOLUME_MOUNT: Fields = Fields::of(&[
    keep("mountPath", Text),
    given("mountPropagation", Text),
    keep("name", Text),
    omit("readOnly", Bool),
    given("recursiveReadOnly", Text),
    omit("subPath", Text),
    omit("subPathExpr", Text),
]);

pub(super) static VOLUME_DEVICE: Fields = Fields::of(&[keep("devicePath", Text), keep("name", Text)]);

static EXEC_ACTION: Fields = Fields::of(&[omit("command", List(&Text))]);

static HTTP_HEADER: Fields = Fields::of(&[keep("name", Text), keep("value", Text)]);

static HTTP_GET_ACTION: Fields = Fields::of(&[
    omit("host", Text),
    omit("httpHeaders", List(&Struct(&HTTP_HEADER))),
    omit("path", Text),
    keep("port", IntOrText),
    omit("scheme", Text),
]);

static TCP_SOCKET_ACTION: Fields = Fields::of(&[omit("host", Text), keep("port", IntOrText)]);

static GRPC_ACTION: Fields = Fields::of(&[keep("port", Int), given("service", Text)]);

pub(super) static PROBE: Fields = Fields::of(&[
    given("exec", Struct(&EXEC_ACTION)),
    omit("failureThreshold", Int),
    given("grpc", Struct(&GRPC_ACTION)),
    given("httpGet", Struct(&HTTP_GET_ACTION)),
    omit("initialDelaySeconds", Int),
    omit("periodSeconds", Int),
    omit("successThreshold", Int),
    given("tcpSocket", Struct(&TCP_SOCKET_ACTION)),
    given("terminationGracePeriodSeconds", Int),
    omit("timeoutSeconds", Int),
]);

static SLEEP_ACTION: Fields = Fields::of(&[keep("seconds", Int)]);

static LIFECYCLE_HANDLER: Fields = Fields::of(&[
    given("exec", Struct(&EXEC_ACTION)),
    given("httpGet", Struct(&HTTP_GET_ACTION)),
    given("sleep", Struct(&SLEEP_ACTION)),
    given("tcpSocket", Struct(&TCP_SOCKET_ACTION)),
]);

pub(super) static LIFECYCLE: Fields = Fields::of(&[
    given("postStart", Struct(&LIFECYCLE_HANDLER)),
    given("preStop", Struct(&LIFECYCLE_HANDLER)),
    given("stopSignal", Text),
]);

static CAPABILITIES: Fields = Fields::of(&[omit("add", List(&Text)), omit("drop", List(&Text))]);

pub(super) static SE_LINUX_OPTIONS: Fields =
    Fields::of(&[omit("level", Text), omit("role", Text), omit("type", Text), omit("user", Text)]);

pub(super) static WINDOWS_SECURITY_CONTEXT_OPTIONS: Fields = Fields::of(&[
    given("gmsaCredentialSpec", Text),
    given("gmsaCredentialSpecName", Text),
    given("hostProcess", Bool),
    given("runAsUserName", Text),
]);

pub(super) static SECCOMP_PROFILE: Fields =
    Fields::of(&[given("localhostProfile", Text), keep("type", Text)]);

pub(super) static APP_ARMOR_PROFILE: Fields =
    Fields::of(&[given("localhostProfile", Text), keep("type", Text)]);

pub(super) static SECURITY_CONTEXT: Fields = Fields::of(&[
    given("allowPrivilegeEscalation", Bool),
    given("appArmorProfile", Struct(&APP_ARMOR_PROFILE)),
    given("capabilities", Struct(&CAPABILITIES)),
    given("privileged", Bool),
    given("procMount", Text),
    given("readOnlyRootFilesystem", Bool),
    given("runAsGroup", Int),
    given("runAsNonRoot", Bool),
    given("runAsUser", Int),
    given("seLinuxOptions", Struct(&SE_LINUX_OPTIONS)),
    given("seccompProfile", Struct(&SECCOMP_PROFILE)),
    given("windowsOptions", Struct(&WINDOWS_SECURITY_CONTEXT_OPTIONS)),
]);

pub(super) static CONTAINER: Fields = Fields::of(&[
    omit("args", List(&Text)),
    omit("command", List(&Text)),
    omit("env", List(&Struct(&ENV_VAR))),
    omit("envFrom", List(&Struct(&ENV_FROM_SOURCE))),
    omit("image", Text),
    omit("imagePullPolicy", Text),
    given("lifecycle", Struct(&LIFECYCLE)),
    given("livenessProbe", Struct(&PROBE)),
    keep("name", Text),
    omit("ports", List(&Struct(&CONTAINER_PORT))),
    given("readinessProbe", Struct(&PROBE)),
    omit("resizePolicy", List(&Struct(&CONTAINER_RESIZE_POLICY))),
    omit("resources", Struct(&RESOURCE_REQUIREMENTS)),
    given("restartPolicy", Text),
    omit("restartPolicyRules", List(&Struct(&CONTAINER_RESTART_RULE))),
    given("securityContext", Struct(&SECURITY_CONTEXT)),
    given("startupProbe", Struct(&PROBE)),
    omit("stdin", Bool),
    omit("stdinOnce", Bool),
    omit("terminationMessagePath", Text),
    omit("terminationMessagePolicy", Text),
    omit("tty", Bool),
    omit("volumeDevices", List(&Struct(&VOLUME_DEVICE))),
    omit("volumeMounts", List(&Struct(&VOLUME_MOUNT))),
    omit("workingDir", Text),
]);
