{{/* Service of a component with a name; headless for a StatefulSet, whose pods have names each. */}}
{{- define "service.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "service.metadata" . | nindent 2 }}
spec:
  {{- if eq .component.kind "StatefulSet" }}
  clusterIP: None
  publishNotReadyAddresses: true
  {{- end }}
  selector:
    {{- include "service.selector" . | nindent 4 }}
  ports:
    {{- range $name := .component.served }}
    - name: {{ $name }}
      port: {{ get $.component.ports $name | int }}
      targetPort: {{ $name }}
      {{- if and (eq $name "grpc") (not $.root.Values.keys.enabled) }}
      appProtocol: kubernetes.io/h2c
      {{- end }}
    {{- end }}
{{- end }}

{{/*
Voluntary disruptions take at most one pod of a component at a time. For pods of an MPIJob Kubernetes refuses
`maxUnavailable`, as their desired number is not defined.
*/}}
{{- define "service.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "service.metadata" . | nindent 2 }}
spec:
  {{- if eq .component.kind "MPIJob" }}
  minAvailable: {{ int .component.replicas }} # beside these workers there is a launcher
  {{- else }}
  maxUnavailable: 1
  {{- end }}
  selector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
{{- end }}

{{/*
Target of a Prometheus operator. A PodMonitor, since stages have no Services and Prometheus scrapes pods
anyway.
*/}}
{{- define "service.monitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  {{- include "service.metadata" . | nindent 2 }}
    {{- with .root.Values.metrics.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
  podTargetLabels: [app.kubernetes.io/instance, app.kubernetes.io/component]
  podMetricsEndpoints:
    - port: metrics
{{- end }}
