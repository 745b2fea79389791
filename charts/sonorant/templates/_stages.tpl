{{/* A Deployment for each stage. `services.augmenter` runs those that have no service of their own, by their names. */}}
{{- define "sonorant.stages" -}}
{{- $root := . -}}
{{- $services := ($root.Files.Get "stages.yaml" | fromYaml).services -}}
{{- $replicas := get (.Values.recipe.pipeline | default dict) "replicas" | default dict -}}
{{- $before := "" -}}
{{- range $stage := include "sonorant.chain" . | fromYamlArray }}
- name: {{ $stage | replace "_" "-" }}
  kind: Deployment
  image: stage
  replicas: {{ get $replicas $stage | default 1 | int }}
  {{- if ne $root.Values.autoscaling.mode "none" }}
  scaling: {{ include "sonorant.stage.scaling" (list $root $stage) }}
  {{- end }}
  graceSeconds: 30
  {{- if hasKey $services $stage }}
  command: [python, -m, services.{{ get $services $stage }}]
  {{- else }}
  command: [python, -m, services.augmenter, {{ $stage }}]
  {{- end }}
  args:
    {{- include "sonorant.arguments.service" $root | nindent 4 }}
    - --coordinator={{ include "sonorant.fullname" $root }}-coordinator:7100
    - --host=$(POD_IP)
    - --port=7000
    - --stay
    {{- if $root.Values.data.claim }}
    - --data=/data
    {{- end }}
  ports: {data: 7000, health: 7001, metrics: 9100}
  served: [data]
  talksTo: {{ compact (list "coordinator" $before) | toJson }}
  {{- include "sonorant.pod.training" $root | nindent 2 }}
  {{- include "sonorant.keys" (dict "root" $root "calls" "coordinator" "links" true) | nindent 2 }}
  {{- include "sonorant.store" $root | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" $root | nindent 4 }}
    {{- include "sonorant.volume.runs" (list $root false) | nindent 4 }}
    {{- include "sonorant.volume.data" $root | nindent 4 }}
  probes:
    {{- include "service.health.probes" 7001 | nindent 4 }}
  settings:
    {{- include "sonorant.stage.settings" (list $root $stage) | nindent 4 }}
{{- $before = $stage | replace "_" "-" }}
{{- end }}
{{- end }}

{{/* The user's settings of one stage. */}}
{{- define "sonorant.stage.settings" -}}
{{- $all := (index . 0).Values.stages -}}
{{- toYaml (mergeOverwrite (omit $all "each" | deepCopy) (get ($all.each | default dict) (index . 1) | default dict | deepCopy)) }}
{{- end }}

{{/* Fewest and most replicas of one stage, as JSON. */}}
{{- define "sonorant.stage.scaling" -}}
{{- $all := (index . 0).Values.autoscaling -}}
{{- merge (get ($all.each | default dict) (index . 1) | default dict | deepCopy) (pick $all "minReplicas" "maxReplicas") | toJson }}
{{- end }}

{{/* The autoscaler; with a `mode` other than planner it only scales a complete training to 0. */}}
{{- define "sonorant.autoscaler" -}}
{{- $plans := eq .Values.autoscaling.mode "planner" }}
{{- if or $plans .Values.autoscaling.rest }}
{{- $chain := include "sonorant.chain" . | fromYamlArray }}
{{- $replicas := get (.Values.recipe.pipeline | default dict) "replicas" | default dict }}
{{- $deployments := list }}
- name: autoscaler
  kind: Deployment
  image: autoscaler
  replicas: {{ int .Values.autoscaling.replicas }}
  graceSeconds: 10
  command: [python, -m, services.autoscaler]
  args:
    - --recipe=/etc/sonorant/recipe.yaml
    - --coordinator={{ include "sonorant.fullname" . }}-coordinator:7100
    - --deployments={{ include "sonorant.fullname" . }}-
    - {{ $plans | ternary "--plan" "--no-plan" }}
    - {{ .Values.autoscaling.rest | ternary "--rest" "--no-rest" }}
    {{- if include "sonorant.trainer.scaled" . }}
    - --ranks={{ include "sonorant.ranks" . }}
    {{- end }}
    - --utilisation={{ float64 .Values.autoscaling.utilisation }}
    - --stabilisation-s={{ int .Values.autoscaling.stabilizationWindowSeconds }}
    {{- with .Values.autoscaling.cores }}
    - --cores={{ float64 . }}
    {{- end }}
    {{- range $stage := $chain }}
    {{- $deployments = append $deployments (printf "%s-%s" (include "sonorant.fullname" $) ($stage | replace "_" "-")) }}
    {{- $scaling := include "sonorant.stage.scaling" (list $ $stage) | fromJson }}
    {{- if eq $.Values.autoscaling.mode "none" }}
    {{- $fixed := get $replicas $stage | default 1 }}
    {{- $scaling = dict "minReplicas" $fixed "maxReplicas" $fixed }}
    {{- end }}
    - --bounds={{ $stage }}={{ int $scaling.minReplicas }}:{{ int $scaling.maxReplicas }}:{{ include "sonorant.stage.settings" (list $ $stage) | fromYaml | include "sonorant.cpu" }}
    {{- end }}
    - --host=$(POD_IP)
    - --health-port=7001
    - --metrics-port=9100
  ports: {health: 7001, metrics: 9100}
  talksTo: [coordinator]
  leadsOut: {{ include "sonorant.api.ports" . }}
  rules:
    - {apiGroups: [apps], resources: [deployments/scale], resourceNames: {{ toJson $deployments }}, verbs: [get, patch]}
    {{- if include "sonorant.trainer.scaled" . }}
    - {apiGroups: [apps], resources: [statefulsets/scale], resourceNames: [{{ include "sonorant.fullname" . }}-trainer], verbs: [get, patch]}
    {{- end }}
    - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ include "sonorant.fullname" . }}-autoscaler], verbs: [get, patch]}
    - {apiGroups: [""], resources: [events], verbs: [create]}
  lease: true
  {{- include "sonorant.pod.training" . | nindent 2 }}
  {{- include "sonorant.keys" (dict "root" . "calls" "coordinator") | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" . | nindent 4 }}
  probes:
    {{- include "service.health.probes" 7001 | nindent 4 }}
  settings:
    {{- toYaml .Values.autoscaling | nindent 4 }}
{{- end }}
{{- end }}

{{/* Whether the autoscaler sets the trainer's replicas: its ranks, and 0 when training is complete. */}}
{{- define "sonorant.trainer.scaled" -}}
{{- if and .Values.autoscaling.rest (eq .Values.trainer.launcher "statefulset") }}true{{ end }}
{{- end }}

{{/* Ports of the Kubernetes API, as entries of `leadsOut`. */}}
{{- define "sonorant.api.ports" -}}
{{- $ports := list -}}
{{- range .Values.autoscaling.apiPorts }}
{{- $ports = append $ports (dict "to" "api" "port" (int .)) }}
{{- end }}
{{- toJson $ports }}
{{- end }}

{{/* A quantity of CPU in cores: 250m is 0.25. */}}
{{- define "sonorant.cores" -}}
{{- $quantity := toString . -}}
{{- hasSuffix "m" $quantity | ternary (divf (trimSuffix "m" $quantity) 1000) $quantity -}}
{{- end }}
