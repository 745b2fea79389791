{{/*
All components and the connections between them. An entry has
  name, kind          its name in the release; Deployment, StatefulSet, Job, Pod or MPIJob
  image               target of docker/Dockerfile
  command, args, env  what runs
  replicas, single    number; single: never two at a time, not even in a rolling update
  scaling             minReplicas and maxReplicas, if an autoscaler scales it; load: target of its pods' own `metric`
  scaled              whether the autoscaler sets its replicas without `scaling`
  ports, served       all ports by name, `metrics` for scrapers; those for other components
  service             whether it has a Service
  talksTo, leadsOut   components that it connects to; ports outside the release, with their owner: a key of
                      networkPolicies.peers
  together            its pods connect to each other, at any port
  clients             peers outside this list that may reach it
  rules, lease        permissions at the Kubernetes API, as rules of a Role; whether it has a lease of its name
  mpi                 of an MPIJob, whose workers the rest describes: version of its API, arguments and environment of mpirun,
                      settings of the launcher's pod, revision: what makes it another job
  store               object storage that holds its run: url, endpoint, region, port, secret with credentials
  keys                those of its pods, as sources of a projected volume
  volumes, probes     as its pod has them
  settings            the user's: resources, nodeSelector, tolerations, affinity, annotations
*/}}
{{- define "sonorant.components" -}}
{{ include "sonorant.redis" . }}
{{ include "sonorant.prepare" . }}
{{ include "sonorant.coordinator" . }}
{{ include "sonorant.stages" . }}
{{ include "sonorant.autoscaler" . }}
{{ include "sonorant.trainer" . }}
{{ include "sonorant.recognizer" . }}
{{ include "sonorant.test" . }}
{{- end }}

{{/* Arguments of all programs of a training. */}}
{{- define "sonorant.arguments" -}}
- --run={{ include "sonorant.run" . }}
- --recipe=/etc/sonorant/recipe.yaml
{{- end }}

{{/* ... and of those that wait, and answer probes. */}}
{{- define "sonorant.arguments.service" -}}
{{ include "sonorant.arguments" . }}
- --health-port=7001
- --metrics-port=9100
- --patience-s=604800
{{- end }}

{{/* A digest of what determines a job's pods beside its settings: jobs are immutable, so a new digest is a new job. */}}
{{- define "sonorant.pod.values" -}}
{{- $values := list .Values.image .Values.storage.store .Values.storage.runs.claim .Values.pods .Values.serviceAccount .Values.priorities -}}
{{ list .Chart.Version .Chart.AppVersion $values | toJson }}
{{- end }}

{{- define "sonorant.pod.training" -}}
podAnnotations:
  checksum/recipe: {{ include "sonorant.recipe" . | sha256sum | quote }}
priorityClass: {{ include "sonorant.priority" (list . "training") | quote }}
{{- end }}

{{- define "sonorant.redis" -}}
{{- if include "sonorant.redis.own" . }}
- name: redis
  kind: StatefulSet
  image: redis
  replicas: 1
  graceSeconds: 10
  command: [redis-server]
  args:
    - --requirepass
    - $(REDISCLI_AUTH)
    - --dir
    - /data
    - --save
    - ""
    - --appendonly
    - "yes"
    - --appendfsync
    - always
  env:
    - name: REDISCLI_AUTH
      valueFrom:
        secretKeyRef: {name: {{ include "sonorant.redis.secret" . | quote }}, key: password}
  ports: {redis: 6379}
  served: [redis]
  service: true
  priorityClass: {{ include "sonorant.priority" (list . "training") | quote }}
  volumes:
    - name: redis
      at: /data
      writable: true
      source: {persistentVolumeClaim: {claimName: {{ .Values.storage.redis.claim | default (printf "%s-redis" (include "sonorant.fullname" .)) | quote }}}}
  probes:
    # Any reply shows life, an error too: LOADING, while it reads a large append-only file. With -e errors count.
    livenessProbe:
      exec: {command: [redis-cli, ping]}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      exec: {command: [redis-cli, -e, ping]}
      periodSeconds: 2
      timeoutSeconds: 5
  settings:
    {{- toYaml .Values.redis | nindent 4 }}
{{- end }}
{{- end }}

{{- define "sonorant.prepare" -}}
{{- if .Values.prepare.enabled }}
- name: {{ printf "prepare-%s" (list (include "sonorant.recipe" .) (include "sonorant.pod.values" .) .Values.prepare .Values.data | toJson | sha256sum | trunc 8) }}
  container: prepare
  kind: Job
  image: stage
  retries: 2147483647 # what is missing, capacity or recordings, may come at any time; Kubernetes pauses longer and longer
  command: [python, -m, sonorant.cli, prepare]
  args:
    {{- include "sonorant.arguments" . | nindent 4 }}
    - --data=/data
    - --jobs=$(CPUS)
    - {{ .Values.prepare.strict | ternary "--strict" "--lenient" }}
  {{- include "sonorant.pod.training" . | nindent 2 }}
  {{- include "sonorant.store" . | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" . | nindent 4 }}
    {{- include "sonorant.volume.runs" (list . true) | nindent 4 }}
    {{- include "sonorant.volume.data" . | nindent 4 }}
  settings:
    {{- toYaml .Values.prepare | nindent 4 }}
{{- end }}
{{- end }}

{{- define "sonorant.coordinator" -}}
- name: coordinator
  kind: Deployment
  image: stage
  replicas: 1
  single: true
  graceSeconds: 10
  command: [python, -m, services.coordinator]
  args:
    {{- include "sonorant.arguments.service" . | nindent 4 }}
    - --host=0.0.0.0
    - --port=7100
  env:
    {{- include "sonorant.redis.env" . | nindent 4 }}
  ports: {grpc: 7100, health: 7001, metrics: 9100}
  served: [grpc]
  service: true
  {{- if include "sonorant.redis.own" . }}
  talksTo: [redis]
  {{- else }}
  leadsOut: [{to: redis, port: {{ include "sonorant.redis.port" . }}}]
  {{- end }}
  {{- include "sonorant.pod.training" . | nindent 2 }}
  {{- include "sonorant.keys" (dict "root" . "serves" "coordinator") | nindent 2 }}
  {{- include "sonorant.store" . | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" . | nindent 4 }}
    {{- include "sonorant.volume.runs" (list . false) | nindent 4 }}
  probes:
    {{- include "service.health.probes" 7001 | nindent 4 }}
  settings:
    {{- toYaml .Values.coordinator | nindent 4 }}
{{- end }}

{{- define "sonorant.recognizer" -}}
{{- $http := get (.Values.recipe.serving | default dict) "http_port" | int }}
{{- if .Values.recognizer.replicas }}
- name: recognizer
  kind: Deployment
  image: recognizer
  replicas: {{ int .Values.recognizer.replicas }}
  {{- with .Values.recognizer.autoscaling }}
  {{- if .enabled }}
  scaling: {{ merge (dict "metric" "sonorant_recognizer_load_ratio") . | toJson }}
  {{- end }}
  {{- end }}
  graceSeconds: {{ add .Values.recognizer.drainSeconds 15 }}
  command: [python, -m, services.recognizer]
  args:
    - --exports={{ include "sonorant.run" . }}/exports
    - --recipe=/etc/sonorant/recipe.yaml
    - --host=0.0.0.0
    - --port=50051
    - --health-port=7001
    - --metrics-port=9100
    - --patience-s=604800
    - --threads=$(CPUS)
    - --grace-s={{ .Values.recognizer.drainSeconds }}
    - --service={{ include "sonorant.recognizer.address" . }}
    {{- if .Values.recognizer.apiKeys.secret }}
    - --api-keys=/etc/sonorant-api-keys/keys
    {{- end }}
  {{- if $http }}
  ports: {grpc: 50051, http: {{ $http }}, health: 7001, metrics: 9100}
  served: [grpc, http]
  {{- else }}
  ports: {grpc: 50051, health: 7001, metrics: 9100}
  served: [grpc]
  {{- end }}
  service: true
  talksTo: [recognizer] # a replica without a model checks whether another serves
  clients:
    {{- toYaml .Values.recognizer.clients | nindent 4 }}
  podAnnotations:
    checksum/serving: {{ .Values.recipe.serving | toJson | sha256sum | quote }}
  priorityClass: {{ include "sonorant.priority" (list . "serving") | quote }}
  {{- include "sonorant.keys" (dict "root" . "serves" "recognizer") | nindent 2 }}
  {{- include "sonorant.store" . | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.recipe" . | nindent 4 }}
    {{- include "sonorant.volume.runs" (list . false) | nindent 4 }}
    {{- with .Values.recognizer.apiKeys.secret }}
    - name: api-keys
      at: /etc/sonorant-api-keys
      source: {secret: {secretName: {{ . | quote }}, defaultMode: 288, items: [{key: keys, path: keys}]}} # 0440
    {{- end }}
  probes:
    {{- include "service.health.probes" 7001 | nindent 4 }}
  settings:
    {{- toYaml .Values.recognizer | nindent 4 }}
{{- end }}
{{- end }}

{{- define "sonorant.test" -}}
{{- if .Values.recognizer.replicas }}
- name: test
  kind: Pod
  image: stage
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation # or `helm test --logs` finds no pod to ask
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
  command: [python, -m, services.evaluation]
  args:
    - --server={{ include "sonorant.recognizer.address" . }}
    - --run={{ include "sonorant.run" . }}
    {{- if not (kindIs "invalid" .Values.recognizer.test.maxWer) }}
    - --max-wer={{ .Values.recognizer.test.maxWer }}
    {{- end }}
  talksTo: [recognizer]
  {{- with .Values.recognizer.apiKeys.client }}
  env:
    - name: SONORANT_API_KEY
      valueFrom:
        secretKeyRef: {name: {{ . | quote }}, key: key}
  {{- end }}
  priorityClass: {{ include "sonorant.priority" (list . "serving") | quote }}
  {{- include "sonorant.keys" (dict "root" . "calls" "recognizer") | nindent 2 }}
  {{- include "sonorant.store" . | nindent 2 }}
  volumes:
    {{- include "sonorant.volume.runs" (list . false) | nindent 4 }}
  settings:
    {{- toYaml .Values.recognizer.test | nindent 4 }}
{{- end }}
{{- end }}
