{{/* Service of a component that others find by its name; the pods of a StatefulSet are found one by one. */}}
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
Of each component at most one pod is taken away at a time on purpose. For pods of a job Kubernetes takes no maximum: it
does not know how many there are to be.
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
Tells a Prometheus operator to scrape a component. A PodMonitor, since stages have no Services and Prometheus asks each
pod anyway.
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
