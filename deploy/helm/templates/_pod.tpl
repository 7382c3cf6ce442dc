{{- /* The pod of a set; takes (dict "root" $ "name" $component "set" $set). */ -}}

{{- define "bridge.pod" -}}
{{- $root := .root -}}
{{- $own := dict "matchLabels" (merge (dict "app.kubernetes.io/component" .name) (fromYaml (include "bridge.selector" $root))) -}}
{{- $leaving := ternary 5 0 (and .set.serves (eq $root.Values.mode "kafka")) -}}
metadata:
  labels:
    {{- include "bridge.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
  {{- with .set.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "bridge.serviceAccount" $root }}
  automountServiceAccountToken: false
  # A Service whose name begins with "bridge" would give variables that the start refuses as unknown settings.
  enableServiceLinks: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .set.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  # The tasks of the process may take the budget, and then its answers under way once more.
  terminationGracePeriodSeconds: {{ add $leaving (mul 2 (int $root.Values.drainSeconds)) 5 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .set.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .set.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq $root.Values.mode "kafka" }}
  affinity:
    podAntiAffinity:
      {{- if eq (.set.antiAffinity | default "preferred") "required" }}
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          labelSelector:
            {{- toYaml $own | nindent 12 }}
      {{- else }}
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              {{- toYaml $own | nindent 14 }}
      {{- end }}
  topologySpreadConstraints:
    - topologyKey: topology.kubernetes.io/zone
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        {{- toYaml $own | nindent 8 }}
  {{- end }}
  containers:
    - name: bridge
      image: {{ include "bridge.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [run]
      env:
        {{- include "bridge.env" . | trim | nindent 8 }}
      ports:
        {{- if .set.serves }}
        - { name: http, containerPort: 8080 }
        {{- end }}
        - { name: ops, containerPort: 9464 }
      # The ops listener opens before the store, so this passes at once; readiness waits for the store.
      startupProbe:
        httpGet: { path: /healthz, port: ops }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: {{ div (add (int $root.Values.startSeconds) 4) 5 }}
      # It depends on nothing outside the process: neither Kafka nor the upstream is a reason to restart.
      livenessProbe:
        httpGet: { path: /healthz, port: ops }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: ops }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if $leaving }}
      # Time for balancers to hear that this pod is leaving.
      lifecycle:
        preStop:
          sleep: { seconds: {{ $leaving }} }
      {{- end }}
      resources:
        {{- toYaml .set.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: files, mountPath: {{ include "bridge.files" . }}, readOnly: true }
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "bridge.filesVolume" . | nindent 4 }}
    {{- if not .set.persistence.enabled }}
    - name: data
      emptyDir: { sizeLimit: {{ .set.persistence.size }} }
    {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
