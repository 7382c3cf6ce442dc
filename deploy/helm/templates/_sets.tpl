{{- /*
The sets of processes, by name: what each one is given besides its block of the values.
readers: serves people and programs. delivers: sends webhooks. polls: asks the upstream.
*/ -}}

{{- define "bridge.sets" -}}
{{- $memory := dict "requests" (dict "cpu" "250m" "memory" "512Mi") "limits" (dict "memory" "2Gi") -}}
{{- $serving := ternary (list "feed" "api" "console") (list "feed" "api") .Values.console -}}
{{- if eq .Values.mode "embedded" }}
{{- $own := dict "roles" (concat (list "poller" "webhooks") $serving) "polls" true "delivers" true "serves" true
  "replicas" 1 "resources" (dict "requests" (dict "cpu" "100m" "memory" "512Mi") "limits" (dict "memory" "2Gi"))
  "persistence" (dict "enabled" true "size" "20Gi") }}
{{- dict "bridge" (mergeOverwrite $own .Values.bridge) | toYaml }}
{{- else }}
{{- $poller := dict "roles" (list "poller") "polls" true "delivers" false "serves" false
  "replicas" 2 "antiAffinity" "required"
  "resources" (dict "requests" (dict "cpu" "100m" "memory" "384Mi") "limits" (dict "memory" "2Gi"))
  "persistence" (dict "enabled" true "size" "20Gi") }}
{{- $readers := dict "roles" $serving "polls" false "delivers" false "serves" true
  "replicas" 2 "resources" $memory "persistence" (dict "enabled" false "size" "20Gi") }}
{{- $webhooks := dict "roles" (list "webhooks") "polls" false "delivers" true "serves" false
  "replicas" 2 "resources" (deepCopy $memory) "persistence" (dict "enabled" false "size" "20Gi") }}
{{- dict "poller" (mergeOverwrite $poller .Values.poller) "readers" (mergeOverwrite $readers .Values.readers)
  "webhooks" (mergeOverwrite $webhooks .Values.webhooks) | toYaml }}
{{- end }}
{{- end }}
