{{/* Deployment, StatefulSet, Job or bare Pod of a component. */}}
{{- define "service.workload" -}}
{{- $component := .component -}}
{{- if eq $component.kind "Pod" -}}
{{- include "service.pod.bare" . }}
{{- else -}}
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
  {{- /* An upgrade must not undo an autoscaler's decision. */}}
  {{- if not (or $component.scaling $component.scaled) }}
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
{{- end }}

{{- define "service.pod.bare" -}}
{{- $pod := include "service.pod" . | fromYaml -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "service.metadata" . | nindent 2 }}
    {{- with omit $pod.metadata.labels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- merge (.component.annotations | default dict) ($pod.metadata.annotations | default dict) | toYaml | nindent 4 }}
spec:
  {{- toYaml $pod.spec | nindent 2 }}
{{- end }}
