{{/*
All templates of this chart take a dict: `root`, the umbrella's context, and `component`, one entry of the umbrella's list
(`sonorant.components` says what stands in it).
*/}}

{{- define "service.name" -}}
{{ .root.Release.Name | trunc 40 | trimSuffix "-" }}-{{ .component.name }}
{{- end }}

{{- define "service.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component.name }}
{{- end }}

{{- define "service.labels" -}}
{{ include "service.selector" . }}
app.kubernetes.io/part-of: sonorant
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "service.metadata" -}}
name: {{ include "service.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "service.labels" . | nindent 2 }}
{{- end }}
