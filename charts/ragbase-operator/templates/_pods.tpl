{{- /* What every pod of this chart has: the restricted pod security standard and no more. */ -}}

{{- define "ragbase-operator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "ragbase-operator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* The operator's placement, for the hooks' pods too. */ -}}
{{- define "ragbase-operator.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- /* What is looked after. */ -}}
{{- define "ragbase-operator.scope" -}}
- name: RAGBASE_OPERATOR_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: RAGBASE_OPERATOR_NAMESPACES
  value: {{ join "," .Values.watch.namespaces | quote }}
{{- with .Values.pod.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ragbase-operator.settings" -}}
{{- range $name, $value := .Values.settings }}
{{- if or (not (kindIs "map" $value)) $value }}
- name: RAGBASE_OPERATOR_{{ snakecase $name | upper }}
  value: {{ ternary (toJson $value) (toString $value) (kindIs "map" $value) | quote }}
{{- end }}
{{- end }}
{{- end -}}
