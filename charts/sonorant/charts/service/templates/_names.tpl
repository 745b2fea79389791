{{/*
All templates of this chart take a dict: `root`, the umbrella's context, and `component`, one entry of the umbrella's list
(its fields: `sonorant.components`).
*/}}

{{- define "service.name" -}}
{{ include "service.release" .root.Release.Name }}-{{ .component.name }}
{{- end }}

{{/* A release's name as all objects may have it, Services too: letters, digits and hyphens, a letter first. */}}
{{- define "service.release" -}}
{{- $name := replace "." "-" . -}}
{{ regexMatch "^[a-z]" $name | ternary $name (printf "release-%s" $name) | trunc 40 | trimAll "-" }}
{{- end }}

{{/* Selector of a component's pods; without `component`, of all of the release. */}}
{{- define "service.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ .name }}
{{- end }}
{{- end }}

{{/* Labels of all objects. Pods have only the selector's, or each version of the chart would restart them. */}}
{{- define "service.labels" -}}
{{ include "service.selector" . }}
app.kubernetes.io/part-of: sonorant
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "service.metadata" -}}
name: {{ include "service.name" . }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "service.labels" . | nindent 2 }}
{{- end }}
