{{- define "groundwork.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "groundwork.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "groundwork.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "groundwork.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "groundwork.operator" -}}
{{- printf "%s-operator" (include "groundwork.fullname" .) -}}
{{- end -}}

{{- define "groundwork.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "groundwork.operator" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: name the account to use, or set serviceAccount.create" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "groundwork.selector" -}}
app.kubernetes.io/name: {{ include "groundwork.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "groundwork.labels" -}}
{{ include "groundwork.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "groundwork.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What the operator may do in each namespace that it watches. Every rule says why. */}}
{{- define "groundwork.rules" -}}
# Copies of what people declared are kept by lists and watches.
- apiGroups: [groundwork.dev]
  resources: [knowledgebases, agentpipelines, modelendpoints, toolpolicies]
  verbs: [list, watch]
# The newest status is read before it is written, since a copy may lag behind.
- apiGroups: [groundwork.dev]
  resources: [modelendpoints, toolpolicies]
  verbs: [get]
# What was found is reported. Specs are never written.
- apiGroups: [groundwork.dev]
  resources: [modelendpoints/status, toolpolicies/status]
  verbs: [patch]
# Whether a Secret and its key exist is looked up by name; no Secret is ever listed or watched.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
# Changes of readiness are told as Events; a repeated one is counted in the first.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
