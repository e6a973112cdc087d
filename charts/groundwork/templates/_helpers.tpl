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

{{- define "groundwork.runtimeImage" -}}
{{- default (include "groundwork.image" .) .Values.runtime.image -}}
{{- end -}}

{{/* What the operator may do in each namespace that it watches. Every rule says why. */}}
{{- define "groundwork.rules" -}}
# Copies of what people declared are kept by lists and watches.
- apiGroups: [groundwork.dev]
  resources: [knowledgebases, agentpipelines, modelendpoints, toolpolicies]
  verbs: [list, watch]
# The newest status is read before it is written, since a copy may lag behind.
- apiGroups: [groundwork.dev]
  resources: [knowledgebases, agentpipelines, modelendpoints, toolpolicies]
  verbs: [get]
# What was found is reported. Specs are never written.
- apiGroups: [groundwork.dev]
  resources: [knowledgebases/status, agentpipelines/status, modelendpoints/status, toolpolicies/status]
  verbs: [patch]
# A knowledge base is ingested by one Job at a time; a finished one is removed when the next is due.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
# What an ingestion did stands in the termination message of its pod.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
# Contracts of revisions, configurations and policies are ConfigMaps; old configurations of a pipeline are found and removed.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch, delete]
# Whether the volumes of sources are there is looked up by name; one for the state of syncs is made, and never changed.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, create]
# A pipeline is a Deployment; applying one that is new needs create beside patch.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch]
# Where questions are asked, and as whom the pods run.
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, create, patch]
# Pods of ours reach what their manifests name and are reached by whom those name.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, create, patch]
# One pod at a time may be taken away.
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, create, patch]
# Which configurations rollouts before the present one have is read from their ReplicaSets.
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
# Whether a Secret and its key exist is looked up by name; no Secret is ever listed or watched.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
# Changes of readiness are told as Events; a repeated one is counted in the first.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
