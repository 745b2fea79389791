{{/* Kubernetes' own autoscaler of a component, by the use of its CPU request. */}}
{{- define "service.hpa" -}}
{{- $scaling := .component.scaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "service.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: {{ .component.kind }}
    name: {{ include "service.name" . }}
  minReplicas: {{ int $scaling.minReplicas }}
  maxReplicas: {{ int $scaling.maxReplicas }}
  metrics:
    {{- if $scaling.load }}
    - type: Pods
      pods:
        metric: {name: {{ $scaling.metric }}}
        target: {type: AverageValue, averageValue: {{ printf "%dm" (round (mulf $scaling.load 1000) 0 | int) }}}
    {{- else }}
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ round (mulf .root.Values.autoscaling.utilisation 100) 0 | int }}
    {{- end }}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: {{ int (get (hasKey $scaling "stabilizationWindowSeconds" | ternary $scaling .root.Values.autoscaling) "stabilizationWindowSeconds") }}
{{- end }}
