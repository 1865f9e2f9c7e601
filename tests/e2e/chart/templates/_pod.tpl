{{- /* The pod template of a workload; takes {workload, values}. */ -}}
{{- define "pod" -}}
{{- $name := .workload.name -}}
metadata:
  labels:
    app: {{ $name }}
  {{- with .workload.podAnnotations }}
  annotations: {{ toJson . }}
  {{- end }}
spec:
  {{- with .workload.podSpec }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if has .workload.kind (list "Job" "CronJob" "AnalysisTemplate") }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: app
      image: {{ .workload.image | default .values.image }}
      {{- with .workload.envFrom }}
      envFrom:
        {{- range . }}
        - configMapRef:
            name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with .workload.env }}
      env:
        {{- range . }}
        - name: {{ .key | upper }}
          valueFrom:
            configMapKeyRef:
              name: {{ .configMap }}
              key: {{ .key }}
        {{- end }}
      {{- end }}
      {{- with .workload.volume }}
      volumeMounts:
        {{- range . }}
        - name: {{ . }}
          mountPath: /etc/{{ . }}
        {{- end }}
      {{- end }}
  {{- with .workload.volume }}
  volumes:
    {{- range . }}
    - name: {{ . }}
      configMap:
        name: {{ . }}
    {{- end }}
  {{- end }}
{{- end }}
