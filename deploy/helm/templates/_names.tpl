{{- /* Names and labels. */ -}}

{{- define "bridge.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{ $name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "bridge.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bridge.labels" -}}
{{ include "bridge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* Of BRIDGE_INSTALLATION, and of every target's label. */ -}}
{{- define "bridge.installation" -}}
{{- $name := .Values.installation | default (printf "%s.%s" .Release.Namespace .Release.Name) -}}
{{- if gt (len $name) 100 }}{{ fail (printf "%s is longer than the 100 characters of an installation's name: set installation" $name) }}{{ end -}}
{{ $name }}
{{- end }}

{{- define "bridge.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "bridge.name" .) }}
{{- end }}

{{- define "bridge.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}
