{{- define "ragbase.name" -}}
{{- default .Release.Name .Values.name -}}
{{- end -}}

{{- /* Of all objects; our own labels win over those of the values. */ -}}
{{- define "ragbase.labels" -}}
{{ merge (include "ragbase.ownLabels" . | fromYaml) .Values.labels | toYaml }}
{{- end -}}

{{- define "ragbase.ownLabels" -}}
app.kubernetes.io/name: ragbase
app.kubernetes.io/instance: {{ include "ragbase.name" . }}
app.kubernetes.io/part-of: ragbase
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}
