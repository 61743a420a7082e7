{{- define "ragbase-operator.toApiServer" -}}
- ports:
  {{- range .Values.networkPolicy.apiServer.ports }}
  - {port: {{ . }}, protocol: TCP}
  {{- end }}
  {{- with .Values.networkPolicy.apiServer.cidrs }}
  to:
  {{- range . }}
  - ipBlock: {cidr: {{ . | quote }}}
  {{- end }}
  {{- end }}
{{- end -}}

{{- define "ragbase-operator.toDns" -}}
- ports:
  - {port: 53, protocol: UDP}
  - {port: 53, protocol: TCP}
{{- end -}}
