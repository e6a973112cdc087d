//! Whom a change touches: which objects are looked at again when one came, changed or went.

use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use kube_client::ResourceExt;

use crate::context::Stores;
use crate::names::{KNOWLEDGE_BASE, PIPELINE};
use crate::users::{bases_of_pipeline, endpoints_of_base, endpoints_of_pipeline, naming, policies_of_pipeline};
use crate::watch::{Guarded, Queue};

/// The queue of each kind, with the copies that say who names whom.
#[derive(Clone)]
pub(crate) struct Routes {
    pub(crate) stores: Stores,
    pub(crate) bases: Queue<KnowledgeBase>,
    pub(crate) pipelines: Queue<AgentPipeline>,
    pub(crate) endpoints: Queue<ModelEndpoint>,
    pub(crate) policies: Queue<ToolPolicy>,
}

impl Routes {
    pub(crate) fn base(&self, object: &Guarded<KnowledgeBase>) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if let Ok(base) = &object.0 {
            endpoints_of_base(base).into_iter().for_each(|name| self.endpoints.add(&namespace, name));
        }
        self.bases.add(&namespace, &name);
        self.pipelines_of_base(&namespace, &name);
    }

    pub(crate) fn pipeline(&self, object: &Guarded<AgentPipeline>) {
        let namespace = object.namespace().unwrap_or_default();
        if let Ok(pipeline) = &object.0 {
            endpoints_of_pipeline(pipeline).into_iter().for_each(|name| self.endpoints.add(&namespace, name));
            policies_of_pipeline(pipeline).into_iter().for_each(|name| self.policies.add(&namespace, name));
        }
        self.pipelines.add(&namespace, &object.name_any());
    }

    pub(crate) fn endpoint(&self, object: &Guarded<ModelEndpoint>) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        for user in naming(&self.stores.knowledge_bases, (&namespace, &name), endpoints_of_base) {
            self.bases.add(&namespace, &user.name);
            self.pipelines_of_base(&namespace, &user.name);
        }
        for user in naming(&self.stores.pipelines, (&namespace, &name), endpoints_of_pipeline) {
            self.pipelines.add(&namespace, &user.name);
        }
        self.endpoints.add(&namespace, &name);
    }

    pub(crate) fn policy(&self, object: &Guarded<ToolPolicy>) {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        for user in naming(&self.stores.pipelines, (&namespace, &name), policies_of_pipeline) {
            self.pipelines.add(&namespace, &user.name);
        }
        self.policies.add(&namespace, &name);
    }

    pub(crate) fn job(&self, job: &Guarded<Job>) {
        if let Some(base) = job.labels().get(KNOWLEDGE_BASE) {
            self.bases.add(&job.namespace().unwrap_or_default(), base);
        }
    }

    pub(crate) fn deployment(&self, deployment: &Guarded<Deployment>) {
        if let Some(pipeline) = deployment.labels().get(PIPELINE) {
            self.pipelines.add(&deployment.namespace().unwrap_or_default(), pipeline);
        }
    }

    fn pipelines_of_base(&self, namespace: &str, base: &str) {
        for user in naming(&self.stores.pipelines, (namespace, base), bases_of_pipeline) {
            self.pipelines.add(namespace, &user.name);
        }
    }
}
