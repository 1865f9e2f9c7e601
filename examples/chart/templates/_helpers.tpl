{{/* Labels that never change during a release. Selectors and pods have only these labels. */}}
{{- define "shop.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of an object: include "shop.labels" (list $ "component"). */}}
{{- define "shop.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{ include "shop.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end }}

{{/* An image, from a mapping with repository and tag. */}}
{{- define "shop.image" -}}
{{ printf "%s:%s" .repository .tag | quote }}
{{- end }}

{{/* Security context of a pod, as the restricted Pod Security Standard requires. */}}
{{- define "shop.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* Security context of a container. */}}
{{- define "shop.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* A variable from the shared settings: (list $ VARIABLE key). */}}
{{- define "shop.setting" -}}
- name: {{ index . 1 }}
  valueFrom:
    configMapKeyRef:
      name: {{ (index . 0).Release.Name }}-settings
      key: {{ index . 2 }}
{{- end }}
