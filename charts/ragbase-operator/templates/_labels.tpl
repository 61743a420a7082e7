{{- /* `app.kubernetes.io/name: ragbase-operator` is what the policies of a RagBase let in, from any
namespace: only the operator's pod has it, whatever the release is called. */ -}}

{{- define "ragbase-operator.selector" -}}
app.kubernetes.io/name: ragbase-operator
app.kubernetes.io/instance: {{ include "ragbase-operator.instance" . }}
app.kubernetes.io/component: operator
{{- end -}}

{{- /* Of a hook's pod: `root` and `component`, which is `uninstall` or `test`. */ -}}
{{- define "ragbase-operator.hookSelector" -}}
app.kubernetes.io/name: ragbase-operator-hook
app.kubernetes.io/instance: {{ include "ragbase-operator.instance" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "ragbase-operator.instance" -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "ragbase-operator.common" -}}
app.kubernetes.io/part-of: ragbase
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- /* Of all objects; our own labels win over those of the values. */ -}}
{{- define "ragbase-operator.labels" -}}
{{- $own := printf "%s\n%s" (include "ragbase-operator.selector" .) (include "ragbase-operator.common" .) -}}
{{ merge (fromYaml $own) .Values.labels | toYaml }}
{{- end -}}

{{- define "ragbase-operator.hookLabels" -}}
{{- $own := printf "%s\n%s" (include "ragbase-operator.hookSelector" .) (include "ragbase-operator.common" .root) -}}
{{ merge (fromYaml $own) .root.Values.labels | toYaml }}
{{- end -}}
