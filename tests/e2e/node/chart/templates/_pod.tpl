{{- /* A pod template that reads a ConfigMap in each way. */ -}}
{{- define "pod" -}}
{{- $name := .Release.Name -}}
metadata:
  labels: {app: {{ $name }}, team: {{ .Values.team }}}
  annotations:
    # Many charts have this annotation, so that a change of a ConfigMap replaces the Pods.
    checksum/config: {{ include (print .Template.BasePath "/configmaps.yaml") . | sha256sum }}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  {{- if eq .Values.kind "CronJob" }}
  restartPolicy: OnFailure
  {{- end }}
  securityContext:
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: app
      image: localhost/app:1
      readinessProbe:
        httpGet: {port: 8080}
        periodSeconds: 1
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        runAsUser: 65532
        capabilities: {drop: [ALL]}
      envFrom:
        - configMapRef: {name: {{ $name }}-envfrom}
      env:
        - name: env
          valueFrom:
            configMapKeyRef: {name: {{ $name }}-env, key: env}
      volumeMounts:
        - {name: file, mountPath: /etc/app/volume}
        - {name: subpath, mountPath: /etc/app/subpath, subPath: subpath}
        - {name: projected, mountPath: /etc/app/projected}
  volumes:
    - name: file
      configMap: {name: {{ $name }}-file}
    - name: subpath
      configMap: {name: {{ $name }}-subpath}
    - name: projected
      projected:
        sources:
          - configMap: {name: {{ $name }}-projected}
{{- end }}
