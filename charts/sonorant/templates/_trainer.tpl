{{- define "sonorant.trainer" -}}
- name: trainer
  {{- if eq .Values.trainer.launcher "mpijob" }}
  {{- include "sonorant.trainer.mpijob" . | nindent 2 }}
  {{- else }}
  {{- include "sonorant.trainer.statefulset" . | nindent 2 }}
  {{- end }}
  replicas: {{ include "sonorant.ranks" . }}
  scaled: {{ include "sonorant.trainer.scaled" . | empty | not }}
  together: true
  {{- $last := include "sonorant.chain" . | fromYamlArray | last | replace "_" "-" }}
  {{- $outside := list }}
  {{- if include "sonorant.redis.own" . }}
  talksTo: [coordinator, {{ $last }}, redis]
  {{- else }}
  talksTo: [coordinator, {{ $last }}]
  {{- $outside = append $outside (dict "to" "redis" "port" (include "sonorant.redis.port" . | int)) }}
  {{- end }}
  {{- /* The launcher of a v1 job reaches its workers through the API server. */}}
  {{- if and (eq .Values.trainer.launcher "mpijob") (eq .Values.trainer.mpiVersion "v1") }}
  {{- $outside = concat $outside (include "sonorant.api.ports" . | fromJsonArray) }}
  {{- end }}
  leadsOut: {{ toJson $outside }}
  {{- include "sonorant.pod.training" . | nindent 2 }}
  {{- include "sonorant.keys" (dict "root" . "calls" "coordinator" "links" true) | nindent 2 }}
  {{- include "sonorant.store" . | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" . | nindent 4 }}
    {{- include "sonorant.volume.runs" (list . true) | nindent 4 }}
  settings:
    {{- $settings := deepCopy .Values.trainer }}
    {{- with .Values.trainer.gpus }}
    {{- $gpus := dict $.Values.trainer.gpuResource (int . | toString) }}
    {{- $_ := set $settings "resources" (mergeOverwrite ($settings.resources | default dict) (dict "limits" $gpus)) }}
    {{- end }}
    {{- toYaml $settings | nindent 4 }}
{{- end }}

{{/* Arguments of a rank, under any launcher. */}}
{{- define "sonorant.trainer.arguments" -}}
{{ include "sonorant.arguments" . }}
- --metrics-port=9100
- --patience-s=604800
- --coordinator={{ include "sonorant.fullname" . }}-coordinator:7100
- --export
{{- end }}

{{/* services/launcher in each pod starts its rank, and all ranks restart when one is lost. */}}
{{- define "sonorant.trainer.statefulset" -}}
kind: StatefulSet
image: trainer
graceSeconds: 120
command: [python, -m, services.launcher]
args:
  - --ranks={{ include "sonorant.ranks" . }}
  - --host=$(POD_IP)
  - --revision=$(REVISION)
  - --health-port=7001
  - --
  - python
  - -m
  - services.trainer
  - --launched
  {{- include "sonorant.trainer.arguments" . | nindent 2 }}
  - --host=$(POD_IP)
  - --threads=$(CPUS)
env:
  {{- include "sonorant.redis.env" . | nindent 2 }}
  - name: REVISION
    valueFrom:
      fieldRef: {fieldPath: "metadata.labels['controller-revision-hash']"}
ports: {health: 7001, metrics: 9100}
service: true
probes:
  {{- include "service.health.probes" 7001 | nindent 2 }}
{{- end }}

{{/* Environment variables that mpirun forwards, as a YAML list: those that image, values and a cloud's role set. */}}
{{- define "sonorant.trainer.environment" -}}
{{- $names := list "PATH" "PYTHONPATH" "PYTHONUNBUFFERED" "HOME" "SONORANT_REDIS" -}}
{{- range concat (.Values.pods.extraEnv | default list) (.Values.trainer.extraEnv | default list) -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- with .Values.storage.store -}}
{{- if .url -}}
{{- $names = append $names "SONORANT_STORE" -}}
{{- $names = concat $names (.secret | empty | ternary (list "AWS_ROLE_ARN" "AWS_WEB_IDENTITY_TOKEN_FILE") (list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY")) -}}
{{- $names = concat $names (.endpoint | empty | ternary (list) (list "AWS_ENDPOINT_URL")) (.region | empty | ternary (list) (list "AWS_DEFAULT_REGION")) -}}
{{- end -}}
{{- end -}}
{{- toYaml $names -}}
{{- end }}

{{/*
Workers that wait for mpirun. It reaches them by `kubectl exec` (v1), which keeps their environment, or by ssh, which
does not (v2beta1). A rank must not outlive its parent, hence the leash.
*/}}
{{- define "sonorant.trainer.mpijob" -}}
{{- $ssh := eq .Values.trainer.mpiVersion "v2beta1" -}}
kind: MPIJob
graceSeconds: 10
{{- if $ssh }}
image: trainer-ssh
command: [/usr/sbin/sshd]
args: [-De, -f, /etc/ssh/sonorant_sshd_config]
{{- else }}
image: trainer
command: [sleep]
args: [infinity]
{{- end }}
env:
  {{- include "sonorant.redis.env" . | nindent 2 }}
ports: {metrics: 9100}
mpi:
  version: {{ .Values.trainer.mpiVersion }}
  revision: {{ list (include "sonorant.recipe" .) (include "sonorant.pod.values" .) .Values.trainer .Values.keys .Values.redis | toJson | sha256sum | trunc 8 | quote }}
  settings: {{ dict "resources" .Values.trainer.mpiResources "extraEnv" ($ssh | ternary .Values.trainer.extraEnv nil) | toJson }}
  args:
    - --quiet
    - --bind-to
    - none
    - --mca # or workers would start others, which only the launcher can
    - plm_rsh_no_tree_spawn
    - "1"
    - -np
    - {{ include "sonorant.ranks" . | quote }}
    {{- if $ssh }}
    {{- range $variable := include "sonorant.trainer.environment" . | fromYamlArray }}
    - -x
    - {{ $variable }}
    {{- end }}
    {{- if .Values.keys.enabled }}
    - -x
    - SONORANT_KEYS={{ include "service.keys.folder" . }}
    {{- end }}
    {{- end }}
    - python
    - -m
    - services.process.leash
    - "0"
    - python
    - -m
    - services.trainer
    {{- include "sonorant.trainer.arguments" . | nindent 4 }}
    - --host=0.0.0.0
    - --threads={{ include "sonorant.cpu" .Values.trainer | ceil | int }}
  {{- if $ssh }}
  env:
    {{- include "sonorant.redis.env" . | nindent 4 }}
  {{- include "sonorant.store" . | nindent 2 }}
  {{- end }}
{{- end }}
