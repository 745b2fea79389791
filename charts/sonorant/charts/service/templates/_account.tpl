{{/* Name of the account of all pods without rights at the Kubernetes API. */}}
{{- define "service.account.name" -}}
{{ .Values.serviceAccount.name | default (include "service.release" .Release.Name) }}
{{- end }}

{{- define "service.account.shared" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "service.account.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "service.labels" (dict "root" .) | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}

{{/* Account of a component that has `rules`, with a Role of them in its namespace. */}}
{{- define "service.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "service.metadata" . | nindent 2 }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "service.metadata" . | nindent 2 }}
rules:
  {{- toYaml .component.rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "service.metadata" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "service.name" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "service.name" . }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end }}

{{/* Lease of a component; made here, so that it needs no right to create one, and is deleted with the release. */}}
{{- define "service.lease" -}}
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  {{- include "service.metadata" . | nindent 2 }}
spec: {}
{{- end }}
