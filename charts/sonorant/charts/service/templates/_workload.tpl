{{/* Deployment, StatefulSet or Job of a component. */}}
{{- define "service.workload" -}}
{{- $component := .component -}}
apiVersion: {{ eq $component.kind "Job" | ternary "batch/v1" "apps/v1" }}
kind: {{ $component.kind }}
metadata:
  {{- include "service.metadata" . | nindent 2 }}
  {{- with $component.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if eq $component.kind "Job" }}
  backoffLimit: {{ $component.retries | int }}
  {{- else }}
  {{- /* What an autoscaler decided must not be undone by an upgrade. */}}
  {{- if not $component.scaling }}
  replicas: {{ $component.replicas | int }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
  {{- end }}
  {{- if eq $component.kind "StatefulSet" }}
  serviceName: {{ include "service.name" . }}
  podManagementPolicy: Parallel
  {{- end }}
  {{- if $component.single }}
  strategy:
    type: Recreate
  {{- end }}
  template:
    {{- include "service.pod" . | nindent 4 }}
{{- end }}
