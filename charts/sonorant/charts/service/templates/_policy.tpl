{{/*
Network policy of a component. It takes `components`, the whole list, too: an edge is one entry in
`talksTo`, and gives both the egress of the one and the ingress of the other.
*/}}
{{- define "service.policy" -}}
{{- $root := .root -}}
{{- $component := .component -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "service.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- $metrics := get ($component.ports | default dict) "metrics" }}
  {{- $scrapers := and $metrics $root.Values.metrics.scrapers }}
  {{- $in := list }}
  {{- $out := list }}
  {{- range $other := .components }}
  {{- if has $component.name ($other.talksTo | default list) }}
  {{- $in = append $in $other }}
  {{- end }}
  {{- if has $other.name ($component.talksTo | default list) }}
  {{- $out = append $out $other }}
  {{- end }}
  {{- end }}
  {{- if or $in $component.clients $component.together $scrapers }}
  ingress:
    {{- if $component.together }}
    - from:
        {{- include "service.peer" . | nindent 8 }}
    {{- end }}
    {{- if or $in $component.clients }}
    - from:
        {{- range $in }}
        {{- include "service.peer" (dict "root" $root "component" .) | nindent 8 }}
        {{- end }}
        {{- with $component.clients }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- include "service.policy.ports" $component | nindent 8 }}
    {{- end }}
    {{- with $scrapers }}
    - from:
        {{- toYaml . | nindent 8 }}
      ports:
        - port: {{ int $metrics }}
          protocol: TCP
    {{- end }}
  {{- end }}
  {{- $policies := $root.Values.networkPolicies }}
  {{- $outside := $component.leadsOut | default list }}
  {{- with $component.store }}
  {{- $outside = append $outside (dict "to" "store" "port" .port) }}
  {{- end }}
  {{- if or $out $outside $component.together $policies.egress }}
  egress:
    - ports:
        {{- range $port := $policies.dnsPorts }}
        - {port: {{ int $port }}, protocol: UDP}
        - {port: {{ int $port }}, protocol: TCP}
        {{- end }}
      {{- include "service.policy.outside" $policies.peers.dns | nindent 6 }}
    {{- if $component.together }}
    - to:
        {{- include "service.peer" . | nindent 8 }}
    {{- end }}
    {{- range $out }}
    - to:
        {{- include "service.peer" (dict "root" $root "component" .) | nindent 8 }}
      ports:
        {{- include "service.policy.ports" . | nindent 8 }}
    {{- end }}
    {{- range $outside }}
    - ports:
        - port: {{ int .port }}
          protocol: TCP
      {{- include "service.policy.outside" (get $policies.peers .to) | nindent 6 }}
    {{- end }}
    {{- with $policies.egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* Peers of a rule outside the release; none: any. */}}
{{- define "service.policy.outside" -}}
{{- with . -}}
to:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end }}

{{- define "service.peer" -}}
- podSelector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
{{- end }}

{{- define "service.policy.ports" -}}
{{- $component := . -}}
{{- range $component.served }}
- port: {{ get $component.ports . | int }}
  protocol: TCP
{{- end }}
{{- end }}
