{{/*
The recipe as the services read it, with `trainer.ranks`: JSON's part of YAML, in one order, so that
its checksum means its content.
*/}}
{{- define "sonorant.recipe" -}}
{{- $recipe := deepCopy (.Values.recipe | default dict) -}}
{{- with .Values.trainer.ranks -}}
{{- $_ := set $recipe "training" (merge (dict "ranks" (int .)) ($recipe.training | default dict)) -}}
{{- end -}}
{{- toYaml $recipe }}
{{- end }}

{{- define "sonorant.fullname" -}}
{{ include "service.release" .Release.Name }}
{{- end }}

{{/* Cores that a component's settings request; default: 1. */}}
{{- define "sonorant.cpu" -}}
{{- $requests := get (.resources | default dict) "requests" | default dict -}}
{{ include "sonorant.cores" (get $requests "cpu" | default 1) }}
{{- end }}

{{/* Address of the recognizer's Service. */}}
{{- define "sonorant.recognizer.address" -}}
{{ include "sonorant.fullname" . }}-recognizer:50051
{{- end }}

{{/* Path of the run on its volume, in every pod. */}}
{{- define "sonorant.run" -}}
/runs/{{ .Values.recipe.name }}
{{- end }}

{{/* Stages in the order in which an example passes them, as a YAML list; it gives the links between them. */}}
{{- define "sonorant.chain" -}}
{{- $recipe := .Values.recipe -}}
{{- $pipeline := $recipe.pipeline | default dict -}}
{{- if eq ($pipeline.layout | default "split") "fused" -}}
- example_server
{{- else -}}
{{- $onFeatures := (.Files.Get "stages.yaml" | fromYaml).features -}}
- shard_reader
{{- range $recipe.stages }}
{{- if not (has .stage $onFeatures) }}
- {{ .stage }}
{{- end }}
{{- end }}
{{- if ne ($recipe.corpus | default dict).reader "text" }}
- featurizer
{{- end }}
{{- range $recipe.stages }}
{{- if has .stage $onFeatures }}
- {{ .stage }}
{{- end }}
{{- end }}
{{- end -}}
{{- end }}

{{- define "sonorant.ranks" -}}
{{- .Values.trainer.ranks | default (get (.Values.recipe.training | default dict) "ranks") | default 1 | int -}}
{{- end }}

{{/* The secret with the URL of a Redis outside, or the password of the chart's own. */}}
{{- define "sonorant.redis.secret" -}}
{{ coalesce .Values.redis.secret .Values.redis.passwordSecret (printf "%s-redis" (include "sonorant.fullname" .)) }}
{{- end }}

{{- define "sonorant.redis.own" -}}
{{- if not (or .Values.redis.secret .Values.redis.url) }}true{{ end }}
{{- end }}

{{/* Port of a Redis outside. */}}
{{- define "sonorant.redis.port" -}}
{{- $host := get (urlParse .Values.redis.url) "host" -}}
{{- .Values.redis.url | empty | ternary .Values.redis.port (regexFind ":[0-9]+$" $host | trimPrefix ":" | default 6379) | int -}}
{{- end }}

{{- define "sonorant.redis.env" -}}
{{- if include "sonorant.redis.own" . }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "sonorant.redis.secret" . | quote }}
      key: password
- name: SONORANT_REDIS
  value: redis://:$(REDIS_PASSWORD)@{{ include "sonorant.fullname" . }}-redis:6379/0
{{- else }}
- name: SONORANT_REDIS
  valueFrom:
    secretKeyRef:
      name: {{ include "sonorant.redis.secret" . | quote }}
      key: url
{{- end }}
{{- end }}

{{/* Name of the secret with the keys of links, coordinator, recognizer or client. */}}
{{- define "sonorant.keys.secret" -}}
{{- $root := index . 0 -}}
{{- $holder := index . 1 -}}
{{ get $root.Values.keys.secrets $holder | default (printf "%s-keys-%s" (include "sonorant.fullname" $root) $holder) }}
{{- end }}

{{/*
Entry `keys` of a component that `serves` as coordinator or recognizer, `calls` one of these, has `links`: no key that it
does not need. The files' names are those of services/process/keys.py.
*/}}
{{- define "sonorant.keys" -}}
{{- $root := .root -}}
{{- if $root.Values.keys.enabled }}
keys:
  {{- if .links }}
  - secret:
      name: {{ include "sonorant.keys.secret" (list $root "links") | quote }}
      items:
        - {key: curve.key, path: curve.key}
  {{- end }}
  - secret:
      name: {{ include "sonorant.keys.secret" (list $root (.serves | default "client")) | quote }}
      items:
        {{- if .calls }}
        - {key: ca.crt, path: ca.crt}
        {{- else if has .serves $root.Values.keys.mutual }}
        - {key: ca.crt, path: client-ca.crt}
        {{- end }}
        {{- if or .serves (has .calls $root.Values.keys.mutual) }}
        - {key: tls.crt, path: tls.crt}
        - {key: tls.key, path: tls.key}
        {{- end }}
{{- end }}
{{- end }}

{{/* Name of a priority class: serving or training. */}}
{{- define "sonorant.priority" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- if $root.Values.priorities.create -}}
{{ $root.Release.Namespace }}-{{ include "sonorant.fullname" $root }}-{{ $kind }}
{{- else -}}
{{ get $root.Values.priorities $kind }}
{{- end -}}
{{- end }}

{{/* Volumes, as entries of a component's `volumes`. */}}
{{- define "sonorant.volume.recipe" -}}
- name: recipe
  at: /etc/sonorant
  source: {configMap: {name: {{ include "sonorant.fullname" . }}-recipe}}
{{- end }}

{{- define "sonorant.volume.runs" -}}
- name: runs
  at: /runs
  {{- $store := (index . 0).Values.storage.store }}
  {{- if $store.url }}
  writable: true
  source: {emptyDir: {sizeLimit: {{ $store.sizeLimit }}}}
  {{- else }}
  writable: {{ index . 1 }}
  source: {persistentVolumeClaim: {claimName: {{ (index . 0).Values.storage.runs.claim | default (printf "%s-runs" (include "sonorant.fullname" (index . 0))) | quote }}}}
  {{- end }}
{{- end }}

{{/* Entry `store` of a component that has a run, if object storage holds it. */}}
{{- define "sonorant.store" -}}
{{- with .Values.storage.store }}
{{- if .url }}
{{- $server := urlParse (.endpoint | default "https://s3.amazonaws.com") }}
store:
  url: {{ printf "%s/%s" (trimSuffix "/" .url) $.Values.recipe.name | quote }}
  secret: {{ .secret | quote }}
  endpoint: {{ trimSuffix "/" .endpoint | quote }}
  region: {{ .region | quote }}
  port: {{ regexFind ":[0-9]+$" $server.host | trimPrefix ":" | default (eq $server.scheme "https" | ternary 443 80) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sonorant.volume.data" -}}
{{- with .Values.data.claim }}
- name: data
  at: /data
  source: {persistentVolumeClaim: {claimName: {{ . | quote }}, readOnly: true}}
{{- end }}
{{- end }}

{{/* Contradictory values, refused before the installation. */}}
{{- define "sonorant.check" -}}
{{- if not .Values.recipe }}
{{- fail "\n\nrecipe: not given. Print one as values and install with it:\n    sonorant recipe values recipes/digits.yaml | helm install NAME CHART -f - --set data.claim=CLAIM\n" }}
{{- else }}
{{- include "sonorant.check.values" . }}
{{- end }}
{{- end }}

{{- define "sonorant.check.values" -}}
{{- if and .Values.prepare.enabled (not .Values.data.claim) }}
{{- fail "\n\ndata.claim: not given. Name the volume claim that holds the corpora, or set prepare.enabled=false if the runs' volume has finished shards.\n" }}
{{- end }}
{{- range .Values.recipe.stages }}
{{- $folder := get (.noise | default dict) "folder" | default .reference }}
{{- if and $folder (not $.Values.data.claim) }}
{{- fail (printf "\n\ndata.claim: not given, but the recipe's stage %s plays recordings of the folder %s. Name the volume claim that holds it.\n" .stage $folder) }}
{{- end }}
{{- end }}
{{- if and .Values.redis.url .Values.redis.secret }}
{{- fail "\n\nredis.url and redis.secret: the URL is given, or a secret has it; give one of them up.\n" }}
{{- end }}
{{- if and .Values.redis.passwordSecret (or .Values.redis.url .Values.redis.secret) }}
{{- fail "\n\nredis.passwordSecret: the password of the Redis that the chart runs, but redis.url or redis.secret names one outside; give one of them up.\n" }}
{{- end }}
{{- if and .Values.networkPolicies.enabled .Values.recognizer.replicas (or .Values.recognizer.gateway.parents .Values.recognizer.ingress.host) (eq (toJson .Values.recognizer.clients) `[{"podSelector":{}}]`) }}
{{- fail "\n\nrecognizer.clients: only pods of the namespace, so the network policies keep the gateway or the ingress controller from the recognizer. Name their pods.\n" }}
{{- end }}
{{- with .Values.storage.store }}
{{- if and .url (not (or .secret $.Values.serviceAccount.annotations $.Values.serviceAccount.name)) }}
{{- fail "\n\nstorage.store.secret: not given. Name a secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for storage.store.url, or a serviceAccount that may use the bucket.\n" }}
{{- end }}
{{- if and .url $.Values.storage.runs.claim }}
{{- fail "\n\nstorage.store.url and storage.runs.claim: the run is in object storage or on a volume; give one of them up.\n" }}
{{- end }}
{{- if and (not .url) (or .secret .endpoint .region) }}
{{- fail "\n\nstorage.store.url: not given, but what belongs to it is: s3://BUCKET/PREFIX, or empty secret, endpoint and region.\n" }}
{{- end }}
{{- end }}
{{- if and (gt (include "sonorant.ranks" . | int) 1) (eq (get (.Values.recipe.pipeline | default dict) "order" | default "fast") "strict") (get (.Values.recipe.training | default dict) "batch_vectors") }}
{{- fail (printf "\n\nrecipe.training.batch_vectors: %v: must be 0 with pipeline.order: strict and trainer.ranks: %s; give one of them up.\n" .Values.recipe.training.batch_vectors (include "sonorant.ranks" .)) }}
{{- end }}
{{- $job := printf "kubeflow.org/%s/MPIJob" .Values.trainer.mpiVersion }}
{{- if and (eq .Values.trainer.launcher "mpijob") (not (.Capabilities.APIVersions.Has $job)) }}
{{- fail (printf "\n\ntrainer.launcher=mpijob: the cluster does not serve %s. Install %s, set trainer.mpiVersion to what is served, or trainer.launcher=statefulset. (helm template: --api-versions %s)\n" $job (eq .Values.trainer.mpiVersion "v1" | ternary "kubeflow's training-operator" "kubeflow's mpi-operator") $job) }}
{{- end }}
{{- $given := pick .Values.keys.secrets "coordinator" "recognizer" "client" | values | compact | len }}
{{- if and $given (ne $given 3) }}
{{- fail "\n\nkeys.secrets: coordinator, recognizer and client are certificates of one authority: give all three, or none and the chart makes them.\n" }}
{{- end }}
{{- $http := get (.Values.recipe.serving | default dict) "http_port" | int }}
{{- if has $http (list 7001 9100 50051) }}
{{- fail (printf "\n\nrecipe.serving.http_port: %d: the recognizer's pods have health at 7001, metrics at 9100 and gRPC at 50051; choose another, such as 8080.\n" $http) }}
{{- end }}
{{- if and .Values.metrics.podMonitors .Values.networkPolicies.enabled (not .Values.metrics.scrapers) }}
{{- fail "\n\nmetrics.scrapers: nobody, so the network policies keep Prometheus from what the PodMonitors point it to. Name its pods.\n" }}
{{- end }}
{{- with .Values.recognizer.autoscaling }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "\n\nrecognizer.autoscaling: minReplicas=%d of the recognizer are more than maxReplicas=%d.\n" (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- if and .enabled $.Values.networkPolicies.enabled (not $.Values.metrics.scrapers) }}
{{- fail "\n\nmetrics.scrapers: nobody, so recognizer.autoscaling learns no load: the network policies keep Prometheus from the pods. Name its pods.\n" }}
{{- end }}
{{- end }}
{{- $chain := include "sonorant.chain" . | fromYamlArray }}
{{- $replicas := get (.Values.recipe.pipeline | default dict) "replicas" | default dict }}
{{- range $section, $each := dict "stages.each" .Values.stages.each "autoscaling.each" .Values.autoscaling.each "recipe.pipeline.replicas" $replicas }}
{{- range $stage, $_ := $each }}
{{- if not (has $stage $chain) }}
{{- fail (printf "\n\n%s.%s: the recipe has no such stage; it has %s.\n" $section $stage (join ", " $chain)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $stage := $chain }}
{{- $scaling := include "sonorant.stage.scaling" (list $ $stage) | fromJson }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
{{- fail (printf "\n\nautoscaling: minReplicas=%d of %s are more than maxReplicas=%d.\n" (int $scaling.minReplicas) $stage (int $scaling.maxReplicas)) }}
{{- end }}
{{- end }}
{{- end }}
