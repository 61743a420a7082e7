{{- /* Names. What is too long is cut and ends in a hash of the whole, so that two names that differ
anywhere stay distinct, and no name ends in a dash. 44 characters leave room for every suffix. */ -}}

{{- define "ragbase-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{- define "ragbase-operator.bounded" -}}
{{- if le (len .) 44 -}}
{{ . }}
{{- else -}}
{{ printf "%s-%s" (trunc 35 . | trimSuffix "-") (sha256sum . | trunc 8) }}
{{- end -}}
{{- end -}}

{{- define "ragbase-operator.fullname" -}}
{{- $name := include "ragbase-operator.name" . -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if contains $name .Release.Name -}}
{{- $full = .Release.Name -}}
{{- end -}}
{{- include "ragbase-operator.bounded" (default $full .Values.fullnameOverride) -}}
{{- end -}}

{{- /* Of objects without a namespace: two releases of one name differ. */ -}}
{{- define "ragbase-operator.clusterName" -}}
{{ include "ragbase-operator.fullname" . }}:{{ .Release.Namespace }}
{{- end -}}

{{- define "ragbase-operator.serviceAccount" -}}
{{- $own := ternary (include "ragbase-operator.fullname" .) "default" .Values.serviceAccount.create -}}
{{- default $own .Values.serviceAccount.name -}}
{{- end -}}

{{- define "ragbase-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}
