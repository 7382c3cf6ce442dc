{{- /*
The environment of a set's container, and the files that it names. Both take (dict "root" $ "set" $set).
*/ -}}

{{- define "bridge.files" -}}/etc/bridge/files{{- end }}

{{- /* Setting to file, of the secrets that the roles of the set need. */ -}}
{{- define "bridge.secretFiles" -}}
{{- $names := .root.Values.secrets -}}
{{- $files := dict -}}
{{- if .set.polls }}{{ $_ := set $files "BRIDGE_UPSTREAM_KEY" $names.upstreamKey }}{{ end -}}
{{- if or .set.serves .set.delivers }}
{{- $_ := set $files "BRIDGE_ADMIN_TOKEN" $names.adminToken }}
{{- $_ := set $files "BRIDGE_SECRET_KEY" $names.secretKey }}
{{- with $names.secretKeyOld }}{{ $_ := set $files "BRIDGE_SECRET_KEY_OLD" . }}{{ end -}}
{{- end -}}
{{- with $names.otlpHeaders }}{{ $_ := set $files "OTEL_EXPORTER_OTLP_HEADERS" . }}{{ end -}}
{{- if and .set.delivers $names.webhookProxy }}{{ $_ := set $files "BRIDGE_WEBHOOK_PROXY" $names.webhookProxy }}{{ end -}}
{{- toYaml $files -}}
{{- end }}

{{- define "bridge.env" -}}
{{- $root := .root -}}
{{- $files := include "bridge.files" . -}}
{{- $env := deepCopy $root.Values.settings -}}
{{- $_ := set $env "BRIDGE_ROLES" (join "," .set.roles) -}}
{{- $_ := set $env "BRIDGE_INSTALLATION" (include "bridge.installation" $root) -}}
{{- $_ := set $env "BRIDGE_DATA_DIR" "/data/bridge" -}}
{{- $_ := set $env "BRIDGE_HTTP_HOST" $root.Values.bindAddress -}}
{{- $_ := set $env "BRIDGE_OPS_HOST" $root.Values.bindAddress -}}
{{- $_ := set $env "BRIDGE_DRAIN_TIMEOUT" (printf "PT%dS" (int $root.Values.drainSeconds)) -}}
{{- range $name, $key := fromYaml (include "bridge.secretFiles" .) }}
{{- $_ := set $env (printf "%s_FILE" $name) (printf "%s/%s" $files $key) }}
{{- end -}}
{{- with $root.Values.kafka }}
{{- $_ := set $env "BRIDGE_KAFKA_BROKERS" (join "," .brokers) }}
{{- with .tls }}
{{- $_ := set $env "BRIDGE_KAFKA_TLS" (toString .enabled) }}
{{- if .authorities }}{{ $_ := set $env "BRIDGE_KAFKA_TLS_CA_FILE" (printf "%s/kafka/ca.pem" $files) }}{{ end }}
{{- if .client }}
{{- $_ := set $env "BRIDGE_KAFKA_TLS_CERT_FILE" (printf "%s/kafka/client.pem" $files) }}
{{- $_ := set $env "BRIDGE_KAFKA_TLS_KEY_FILE" (printf "%s/kafka/client.key" $files) }}
{{- end }}
{{- end }}
{{- with .sasl }}
{{- $_ := set $env "BRIDGE_KAFKA_SASL_MECHANISM" .mechanism }}
{{- $_ := set $env "BRIDGE_KAFKA_SASL_USERNAME" .username }}
{{- $_ := set $env "BRIDGE_KAFKA_SASL_PASSWORD_FILE" (printf "%s/kafka/password" $files) }}
{{- end }}
{{- end -}}
{{- range $name, $text := $env }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- with $root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* One volume for all files. fsGroup makes them readable for the group of the user; a changed Secret changes them. */ -}}
{{- define "bridge.filesVolume" -}}
- name: files
  projected:
    defaultMode: 288 # 0440
    sources:
      - secret:
          name: {{ .root.Values.secrets.name }}
          items:
            {{- range $key := values (fromYaml (include "bridge.secretFiles" .)) | uniq | sortAlpha }}
            - { key: {{ $key }}, path: {{ $key }} }
            {{- end }}
      {{- with .root.Values.kafka }}
      {{- with .tls }}
      {{- with .authorities }}
      - secret:
          name: {{ .secret }}
          items:
            - { key: {{ .key | default "ca.crt" }}, path: kafka/ca.pem }
      {{- end }}
      {{- with .client }}
      - secret:
          name: {{ .secret }}
          items:
            - { key: {{ .certificate | default "tls.crt" }}, path: kafka/client.pem }
            - { key: {{ .key | default "tls.key" }}, path: kafka/client.key }
      {{- end }}
      {{- end }}
      {{- with .sasl }}
      - secret:
          name: {{ .password.secret }}
          items:
            - { key: {{ .password.key | default "password" }}, path: kafka/password }
      {{- end }}
      {{- end }}
{{- end }}
