{{- /* What to do next; a named template, so that tests can render it too. */ -}}

{{- define "bridge.notes" -}}
{{- $sets := fromYaml (include "bridge.sets" .) -}}
{{- $name := include "bridge.name" . -}}
{{- $front := printf "%s-%s" $name (ternary "bridge" "readers" (eq .Values.mode "embedded")) -}}
{{ $name }}, mode {{ .Values.mode }}, is installation "{{ include "bridge.installation" . }}".

1. Wait until every process is ready. The first start reads back, and a replica is filled first.
{{- range $set, $spec := $sets }}
     kubectl -n {{ $.Release.Namespace }} rollout status {{ ternary "statefulset" "deployment" $spec.persistence.enabled }}/{{ $name }}-{{ $set }}
{{- end }}

2. Let it examine itself. This spends no request.
{{- range $set, $spec := $sets }}
     kubectl -n {{ $.Release.Namespace }} exec {{ ternary "statefulset" "deployment" $spec.persistence.enabled }}/{{ $name }}-{{ $set }} -- node src/main.ts doctor --no-spend
{{- end }}

3. Follow the feed.
     kubectl -n {{ .Release.Namespace }} exec {{ ternary "statefulset" "deployment" (index $sets (ternary "bridge" "readers" (eq .Values.mode "embedded"))).persistence.enabled }}/{{ $front }} -- node src/main.ts tail --tail 20
{{- if .Values.ingress.enabled }}
   From outside: https://{{ .Values.ingress.host }}{{ if .Values.console }}/console/{{ else }}/v1/events{{ end }}
{{- else if .Values.httpRoute.enabled }}
   From outside: the host of {{ .Values.httpRoute.hostnames | join ", " }}
{{- else }}
   From this machine: kubectl -n {{ .Release.Namespace }} port-forward service/{{ $name }} 8080:{{ .Values.service.port }}
{{- end }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.settings.BRIDGE_TRUSTED_PROXIES) }}

To do: all clients have the proxy's address, and share its rate. Name its net in settings.BRIDGE_TRUSTED_PROXIES.
{{- end }}
{{- if not .Values.monitoring.serviceMonitor.enabled }}

To do: nothing watches this installation. Set monitoring.serviceMonitor.enabled, and monitoring.rules.enabled in one
release per Prometheus.
{{- end }}
{{- if not .Values.networkPolicy.enabled }}

To do: every pod of the cluster reaches the ops listener, which has no token. Set networkPolicy.enabled.
{{- end }}
{{- if eq .Values.mode "embedded" }}

The volume of this process holds the log itself, and helm uninstall keeps it. Make backups: docs/run/backup.md.
{{- end }}
{{- end }}
