{{/* The pod of a component: restricted, without a token unless it has rules, with a read-only root file system. */}}
{{- define "service.pod" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $settings := $component.settings | default dict -}}
{{- $all := $root.Values.pods -}}
metadata:
  labels:
    {{- include "service.selector" . | nindent 4 }}
    {{- with $all.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge ($component.podAnnotations | default dict) ($settings.annotations | default dict) ($all.annotations | default dict) }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: {{ or $component.token (not (empty $component.rules)) | default false }}
  {{- if not $component.token }}{{/* else the operator gives it an account of its own */}}
  serviceAccountName: {{ empty $component.rules | ternary (include "service.account.name" $root) (include "service.name" .) }}
  {{- end }}
  enableServiceLinks: false
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne $component.kind "MPIJob" }}
  restartPolicy: {{ get (dict "Job" "OnFailure" "Pod" "Never") $component.kind | default "Always" }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $component.graceSeconds | default 30 | int }}
  {{- with $component.priorityClass }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if or $component.scaling (gt ($component.replicas | default 1 | int) 1) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "service.selector" . | nindent 10 }}
  {{- end }}
  {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
  {{- with get $settings $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  containers:
    - name: {{ $component.container | default $component.name }}
      {{- include "service.container" . | nindent 6 }}
  volumes:
    {{- include "service.volumes" . | nindent 4 }}
{{- end }}

{{- define "service.container" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $settings := $component.settings | default dict -}}
{{- $disk := dict "requests" (dict "ephemeral-storage" $root.Values.pods.ephemeralStorage) -}}
{{- $resources := merge (deepCopy ($settings.resources | default dict)) $disk -}}
{{- $image := $root.Values.image -}}
image: {{ get ($image.names | default dict) $component.image | default (printf "%s-%s:%s" $image.prefix $component.image ($image.tag | default $root.Chart.AppVersion)) | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
command:
  {{- toYaml $component.command | nindent 2 }}
args:
  {{- toYaml $component.args | nindent 2 }}
env:
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: CPUS
    {{- if get ($resources.requests | default dict) "cpu" }}
    valueFrom:
      resourceFieldRef:
        resource: requests.cpu
    {{- else }}
    value: "1"
    {{- end }}
  {{- if $component.keys }}
  - name: SONORANT_KEYS
    value: {{ include "service.keys.folder" . }}
  {{- end }}
  {{- with $component.store }}
  - name: SONORANT_STORE
    value: {{ .url | quote }}
  {{- with .endpoint }}
  - name: AWS_ENDPOINT_URL
    value: {{ . | quote }}
  {{- end }}
  {{- with .region }}
  - name: AWS_DEFAULT_REGION
    value: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- range $env := list $component.env $root.Values.pods.extraEnv $settings.extraEnv }}
  {{- with $env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- with $component.store }}
{{- if .secret }}
envFrom:
  - secretRef:
      name: {{ .secret | quote }}
{{- end }}
{{- end }}
{{- with $component.ports }}
ports:
  {{- range $name, $port := . }}
  - name: {{ $name }}
    containerPort: {{ int $port }}
  {{- end }}
{{- end }}
{{- with $component.probes }}
{{- toYaml . | nindent 0 }}
{{- end }}
resources:
  {{- toYaml $resources | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if $component.keys }}
  - name: keys
    mountPath: {{ include "service.keys.folder" . }}
    readOnly: true
  {{- end }}
  {{- range $component.volumes }}
  - name: {{ .name }}
    mountPath: {{ .at }}
    {{- if not .writable }}
    readOnly: true
    {{- end }}
  {{- end }}
  {{- range $mounts := list $root.Values.pods.extraVolumeMounts $settings.extraVolumeMounts }}
  {{- with $mounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- end }}

{{- define "service.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .root.Values.pods.tmpSizeLimit }}}
{{- with .component.keys }}
- name: keys
  projected:
    defaultMode: 288 # 0440
    sources:
      {{- toYaml . | nindent 6 }}
{{- end }}
{{- range .component.volumes }}
- name: {{ .name }}
  {{- toYaml .source | nindent 2 }}
{{- end }}
{{- range $volumes := list .root.Values.pods.extraVolumes (.component.settings | default dict).extraVolumes }}
{{- with $volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "service.keys.folder" -}}
/etc/sonorant-keys
{{- end }}

{{/* Probes of a program that serves gRPC health: it may wait for others without a limit, alive but not ready. */}}
{{- define "service.health.probes" -}}
startupProbe:
  grpc:
    port: {{ int . }}
    service: live
  periodSeconds: 1
  failureThreshold: 300
livenessProbe:
  grpc:
    port: {{ int . }}
    service: live
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  grpc:
    port: {{ int . }}
  periodSeconds: 2
  timeoutSeconds: 2
{{- end }}
