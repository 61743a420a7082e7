{{- /* A role and its binding, in each namespace that is looked after, else in the whole cluster.
`root`, `suffix` of the name, `rules` (file of the rules: `cluster`, `namespaced`), `labels`,
`annotations`, `account`. */ -}}
{{- define "ragbase-operator.granted" -}}
{{- $root := .root -}}
{{- $name := printf "%s%s:%s" (include "ragbase-operator.fullname" $root) .suffix $root.Release.Namespace -}}
{{- range $namespace := default (list "") $root.Values.watch.namespaces }}
{{- $kind := ternary "Role" "ClusterRole" (ne $namespace "") }}
{{- $file := ternary $.rules.namespaced $.rules.cluster (ne $namespace "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- $.labels | nindent 4 }}
  {{- with $.annotations }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
rules:
  {{- ($root.Files.Get (printf "files/rbac/%s.yaml" $file) | fromYaml).rules | toYaml | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- $.labels | nindent 4 }}
  {{- with $.annotations }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
- kind: ServiceAccount
  name: {{ $.account }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end -}}
