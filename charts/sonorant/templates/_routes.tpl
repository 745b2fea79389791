{{/* Routes to the recognizer from outside the cluster, for gRPC clients. */}}

{{/* Route of a Gateway, with its policy for the recognizer's certificate. */}}
{{- define "sonorant.gateway" -}}
{{- $names := dict "root" . "component" (dict "name" "recognizer") }}
{{- with .Values.recognizer.gateway -}}
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata:
  {{- include "service.metadata" $names | nindent 2 }}
spec:
  parentRefs:
    {{- toYaml .parents | nindent 4 }}
  {{- with .hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - backendRefs:
        - name: {{ include "service.name" $names }}
          port: 50051
{{- if and $.Values.keys.enabled .authority }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata:
  {{- include "service.metadata" $names | nindent 2 }}
spec:
  targetRefs:
    - group: ""
      kind: Service
      name: {{ include "service.name" $names }}
      sectionName: grpc
  validation:
    hostname: {{ include "service.name" $names }}
    caCertificateRefs:
      - group: ""
        kind: ConfigMap
        name: {{ .authority }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sonorant.ingress" -}}
{{- $names := dict "root" . "component" (dict "name" "recognizer") }}
{{- with .Values.recognizer.ingress -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "service.metadata" $names | nindent 2 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .tlsSecret }}
  tls:
    - hosts: [{{ $.Values.recognizer.ingress.host | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ .host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ include "service.name" $names }}
                port: {name: grpc}
{{- end }}
{{- end }}
