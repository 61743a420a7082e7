{{- /* Annotations of what exists around the deletion of the release only; its weight. */ -}}
{{- define "ragbase-operator.hook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
