//! Containers: environment, probes, security.
//!
//! Source: `types.go` of `k8s.io/api/core/v1`, v0.34.

use super::fields::GoType::{Bool, Int, IntOrText, List, Map, Quantity, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};

pub(crate) static OBJECT_FIELD_SELECTOR: GoStruct =
    GoStruct::new(&[omitempty("apiVersion", Text), always("fieldPath", Text)]);

pub(crate) static RESOURCE_FIELD_SELECTOR: GoStruct = GoStruct::new(&[
    omitempty("containerName", Text),
    omitempty("divisor", Quantity),
    always("resource", Text),
]);

pub(crate) static CONTAINER_PORT: GoStruct = GoStruct::new(&[
    always("containerPort", Int),
    omitempty("hostIP", Text),
    omitempty("hostPort", Int),
    omitempty("name", Text),
    omitempty("protocol", Text),
]);

static CONFIG_MAP_ENV_SOURCE: GoStruct = GoStruct::new(&[omitempty("name", Text), pointer("optional", Bool)]);

static SECRET_ENV_SOURCE: GoStruct = GoStruct::new(&[omitempty("name", Text), pointer("optional", Bool)]);

pub(crate) static ENV_FROM_SOURCE: GoStruct = GoStruct::new(&[
    pointer("configMapRef", Struct(&CONFIG_MAP_ENV_SOURCE)),
    omitempty("prefix", Text),
    pointer("secretRef", Struct(&SECRET_ENV_SOURCE)),
]);

static CONFIG_MAP_KEY_SELECTOR: GoStruct =
    GoStruct::new(&[always("key", Text), omitempty("name", Text), pointer("optional", Bool)]);

static SECRET_KEY_SELECTOR: GoStruct =
    GoStruct::new(&[always("key", Text), omitempty("name", Text), pointer("optional", Bool)]);

static FILE_KEY_SELECTOR: GoStruct = GoStruct::new(&[
    always("key", Text),
    pointer("optional", Bool),
    always("path", Text),
    always("volumeName", Text),
]);

static ENV_VAR_SOURCE: GoStruct = GoStruct::new(&[
    pointer("configMapKeyRef", Struct(&CONFIG_MAP_KEY_SELECTOR)),
    pointer("fieldRef", Struct(&OBJECT_FIELD_SELECTOR)),
    pointer("fileKeyRef", Struct(&FILE_KEY_SELECTOR)),
    pointer("resourceFieldRef", Struct(&RESOURCE_FIELD_SELECTOR)),
    pointer("secretKeyRef", Struct(&SECRET_KEY_SELECTOR)),
]);

pub(crate) static ENV_VAR: GoStruct = GoStruct::new(&[
    always("name", Text),
    omitempty("value", Text),
    pointer("valueFrom", Struct(&ENV_VAR_SOURCE)),
]);

static RESOURCE_CLAIM: GoStruct = GoStruct::new(&[always("name", Text), omitempty("request", Text)]);

pub(crate) static RESOURCE_REQUIREMENTS: GoStruct = GoStruct::new(&[
    omitempty("claims", List(&Struct(&RESOURCE_CLAIM))),
    omitempty("limits", Map(&Quantity)),
    omitempty("requests", Map(&Quantity)),
]);

pub(crate) static CONTAINER_RESIZE_POLICY: GoStruct =
    GoStruct::new(&[always("resourceName", Text), always("restartPolicy", Text)]);

static CONTAINER_RESTART_RULE_ON_EXIT_CODES: GoStruct =
    GoStruct::new(&[omitempty("operator", Text), omitempty("values", List(&Int))]);

pub(crate) static CONTAINER_RESTART_RULE: GoStruct = GoStruct::new(&[
    omitempty("action", Text),
    pointer("exitCodes", Struct(&CONTAINER_RESTART_RULE_ON_EXIT_CODES)),
]);

pub(crate) static VOLUME_MOUNT: GoStruct = GoStruct::new(&[
    always("mountPath", Text),
    pointer("mountPropagation", Text),
    always("name", Text),
    omitempty("readOnly", Bool),
    pointer("recursiveReadOnly", Text),
    omitempty("subPath", Text),
    omitempty("subPathExpr", Text),
]);

pub(crate) static VOLUME_DEVICE: GoStruct =
    GoStruct::new(&[always("devicePath", Text), always("name", Text)]);

static EXEC_ACTION: GoStruct = GoStruct::new(&[omitempty("command", List(&Text))]);

static HTTP_HEADER: GoStruct = GoStruct::new(&[always("name", Text), always("value", Text)]);

static HTTP_GET_ACTION: GoStruct = GoStruct::new(&[
    omitempty("host", Text),
    omitempty("httpHeaders", List(&Struct(&HTTP_HEADER))),
    omitempty("path", Text),
    always("port", IntOrText),
    omitempty("scheme", Text),
]);

static TCP_SOCKET_ACTION: GoStruct = GoStruct::new(&[omitempty("host", Text), always("port", IntOrText)]);

static GRPC_ACTION: GoStruct = GoStruct::new(&[always("port", Int), pointer("service", Text)]);

pub(crate) static PROBE: GoStruct = GoStruct::new(&[
    pointer("exec", Struct(&EXEC_ACTION)),
    omitempty("failureThreshold", Int),
    pointer("grpc", Struct(&GRPC_ACTION)),
    pointer("httpGet", Struct(&HTTP_GET_ACTION)),
    omitempty("initialDelaySeconds", Int),
    omitempty("periodSeconds", Int),
    omitempty("successThreshold", Int),
    pointer("tcpSocket", Struct(&TCP_SOCKET_ACTION)),
    pointer("terminationGracePeriodSeconds", Int),
    omitempty("timeoutSeconds", Int),
]);

static SLEEP_ACTION: GoStruct = GoStruct::new(&[always("seconds", Int)]);

static LIFECYCLE_HANDLER: GoStruct = GoStruct::new(&[
    pointer("exec", Struct(&EXEC_ACTION)),
    pointer("httpGet", Struct(&HTTP_GET_ACTION)),
    pointer("sleep", Struct(&SLEEP_ACTION)),
    pointer("tcpSocket", Struct(&TCP_SOCKET_ACTION)),
]);

pub(crate) static LIFECYCLE: GoStruct = GoStruct::new(&[
    pointer("postStart", Struct(&LIFECYCLE_HANDLER)),
    pointer("preStop", Struct(&LIFECYCLE_HANDLER)),
    pointer("stopSignal", Text),
]);

static CAPABILITIES: GoStruct =
    GoStruct::new(&[omitempty("add", List(&Text)), omitempty("drop", List(&Text))]);

pub(crate) static SE_LINUX_OPTIONS: GoStruct = GoStruct::new(&[
    omitempty("level", Text),
    omitempty("role", Text),
    omitempty("type", Text),
    omitempty("user", Text),
]);

pub(crate) static WINDOWS_SECURITY_CONTEXT_OPTIONS: GoStruct = GoStruct::new(&[
    pointer("gmsaCredentialSpec", Text),
    pointer("gmsaCredentialSpecName", Text),
    pointer("hostProcess", Bool),
    pointer("runAsUserName", Text),
]);

pub(crate) static SECCOMP_PROFILE: GoStruct =
    GoStruct::new(&[pointer("localhostProfile", Text), always("type", Text)]);

pub(crate) static APP_ARMOR_PROFILE: GoStruct =
    GoStruct::new(&[pointer("localhostProfile", Text), always("type", Text)]);

pub(crate) static SECURITY_CONTEXT: GoStruct = GoStruct::new(&[
    pointer("allowPrivilegeEscalation", Bool),
    pointer("appArmorProfile", Struct(&APP_ARMOR_PROFILE)),
    pointer("capabilities", Struct(&CAPABILITIES)),
    pointer("privileged", Bool),
    pointer("procMount", Text),
    pointer("readOnlyRootFilesystem", Bool),
    pointer("runAsGroup", Int),
    pointer("runAsNonRoot", Bool),
    pointer("runAsUser", Int),
    pointer("seLinuxOptions", Struct(&SE_LINUX_OPTIONS)),
    pointer("seccompProfile", Struct(&SECCOMP_PROFILE)),
    pointer("windowsOptions", Struct(&WINDOWS_SECURITY_CONTEXT_OPTIONS)),
]);

pub(crate) static CONTAINER: GoStruct = GoStruct::new(&[
    omitempty("args", List(&Text)),
    omitempty("command", List(&Text)),
    omitempty("env", List(&Struct(&ENV_VAR))),
    omitempty("envFrom", List(&Struct(&ENV_FROM_SOURCE))),
    omitempty("image", Text),
    omitempty("imagePullPolicy", Text),
    pointer("lifecycle", Struct(&LIFECYCLE)),
    pointer("livenessProbe", Struct(&PROBE)),
    always("name", Text),
    omitempty("ports", List(&Struct(&CONTAINER_PORT))),
    pointer("readinessProbe", Struct(&PROBE)),
    omitempty("resizePolicy", List(&Struct(&CONTAINER_RESIZE_POLICY))),
    omitempty("resources", Struct(&RESOURCE_REQUIREMENTS)),
    pointer("restartPolicy", Text),
    omitempty("restartPolicyRules", List(&Struct(&CONTAINER_RESTART_RULE))),
    pointer("securityContext", Struct(&SECURITY_CONTEXT)),
    pointer("startupProbe", Struct(&PROBE)),
    omitempty("stdin", Bool),
    omitempty("stdinOnce", Bool),
    omitempty("terminationMessagePath", Text),
    omitempty("terminationMessagePolicy", Text),
    omitempty("tty", Bool),
    omitempty("volumeDevices", List(&Struct(&VOLUME_DEVICE))),
    omitempty("volumeMounts", List(&Struct(&VOLUME_MOUNT))),
    omitempty("workingDir", Text),
]);
