{{/*
MPIJob of a component, by kubeflow's training-operator (v1) or mpi-operator (v2beta1): the component's pods are workers,
and a launcher beside them runs mpirun. A job that is done stays as it was; so another revision is another job.
*/}}
{{- define "service.mpijob" -}}
{{- $component := .component -}}
{{- $mpi := $component.mpi -}}
{{- $v1 := eq $mpi.version "v1" -}}
{{- $launcher := omit $component "args" "env" "keys" "ports" "replicas" "store" "volumes" -}}
{{- $_ := set $launcher "command" (list "mpirun") -}}
{{- $_ := set $launcher "args" $mpi.args -}}
{{- $_ := set $launcher "env" $mpi.env -}}
{{- $_ := set $launcher "store" $mpi.store -}}
{{- $_ := set $launcher "token" $v1 -}}
{{- $_ := set $launcher "settings" $mpi.settings -}}
apiVersion: kubeflow.org/{{ $mpi.version }}
kind: MPIJob
metadata:
  name: {{ include "service.name" . | trunc 40 | trimSuffix "-" }}-{{ $mpi.revision }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "service.labels" . | nindent 4 }}
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
    {{- if not $v1 }}
    backoffLimit: 1000
    {{- end }}
  {{- if not $v1 }}
  sshAuthMountPath: /var/lib/sonorant/.ssh
  launcherCreationPolicy: WaitForWorkersReady
  {{- end }}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: OnFailure
      template:
        {{- include "service.pod" (dict "root" .root "component" $launcher) | nindent 8 }}
    Worker:
      replicas: {{ int $component.replicas }}
      restartPolicy: OnFailure
      template:
        {{- include "service.pod" . | nindent 8 }}
{{- end }}
