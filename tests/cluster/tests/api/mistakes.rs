use anyhow::{Context, Result, bail, ensure};
use groundwork_cluster_tests::{ControlPlane, User};
use groundwork_crds::{API_VERSION, definition};
use groundwork_crds_fixtures::{
    Mistake, beyond_bounds, broken_rules, changed_identities, full, missing_fields, repeated_items, unknown_fields,
};
use http::{Method, Request};
use kube_client::Client;
use kube_client::core::Status;
use serde_json::{Value, json};

/// Sends objects to the server as `kubectl` does: unknown fields are refused, not dropped.
struct Server {
    client: Client,
    namespace: String,
}

impl Server {
    async fn start(test: &str) -> Result<Option<Self>> {
        let Some(plane) = ControlPlane::shared(test).await? else { return Ok(None) };
        plane.install_definitions().await?;
        let namespace = plane.namespace("mistakes").await?;
        Ok(Some(Self { client: plane.client(User::Admin).await?, namespace }))
    }

    /// The object as it would be stored, or the refusal. Nothing is stored.
    async fn try_to_create(&self, object: &Value) -> Result<Result<Value, Box<Status>>> {
        self.send(Method::POST, "", "&dryRun=All", object).await
    }

    async fn send(
        &self,
        method: Method,
        name: &str,
        query: &str,
        object: &Value,
    ) -> Result<Result<Value, Box<Status>>> {
        let kind = definition(object["kind"].as_str().unwrap_or_default()).context("the kind is ours")?;
        let namespace = &self.namespace;
        let collection = format!("/apis/{API_VERSION}/namespaces/{namespace}/{}", kind.plural());
        let request = Request::builder()
            .method(method)
            .uri(format!("{collection}{name}?fieldValidation=Strict{query}"))
            .header("Content-Type", "application/json")
            .body(serde_json::to_vec(object)?)?;
        match self.client.request(request).await {
            Ok(stored) => Ok(Ok(stored)),
            Err(kube_client::Error::Api(status)) => Ok(Err(status)),
            Err(other) => Err(other.into()),
        }
    }
}

/// Field and message of each cause. What the server could not check because of another cause is none.
fn causes(status: &Status) -> Vec<(&str, &str)> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| (cause.field.as_str(), cause.message.as_str())).filter(|(field, _)| *field != "<nil>").collect()
}

/// Fails with all rows that `expected` says no to.
async fn each_is_refused(
    server: &Server,
    mistakes: &[Mistake],
    expected: impl Fn(&Mistake, &Status) -> bool,
) -> Result<()> {
    let mut wrong = Vec::new();
    for mistake in mistakes {
        let Mistake { object, field, message } = mistake;
        match server.try_to_create(object).await? {
            Err(status) if expected(mistake, &status) => {}
            Err(status) => wrong.push(format!("{field}: {message}\n  {} {:?}", status.message, causes(&status))),
            Ok(_) => wrong.push(format!("{field}: {message}\n  was accepted")),
        }
    }
    ensure!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), mistakes.len(), wrong.join("\n"));
    Ok(())
}

#[tokio::test]
async fn the_full_set_is_accepted_and_nothing_of_it_is_dropped() -> Result<()> {
    let test = "the_full_set_is_accepted_and_nothing_of_it_is_dropped";
    let Some(server) = Server::start(test).await? else { return Ok(()) };
    for object in full() {
        match server.try_to_create(&object).await? {
            Ok(stored) => ensure!(stored["spec"] == object["spec"], "{} became {}", object["spec"], stored["spec"]),
            Err(status) => bail!("{status:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn breaking_a_rule_gives_the_same_message_alone() -> Result<()> {
    let Some(server) = Server::start("breaking_a_rule_gives_the_same_message_alone").await? else { return Ok(()) };
    let same = |mistake: &Mistake, status: &Status| matches!(causes(status).as_slice(), [(field, message)] if *field == mistake.field && message.ends_with(&mistake.message));
    each_is_refused(&server, &broken_rules(), same).await
}

#[tokio::test]
async fn a_changed_identity_gives_the_same_message() -> Result<()> {
    let Some(server) = Server::start("a_changed_identity_gives_the_same_message").await? else { return Ok(()) };
    for (index, change) in changed_identities().into_iter().enumerate() {
        let name = format!("changed-{index}");
        let mut old = change.old;
        old["metadata"]["name"] = json!(name);
        let stored = server.send(Method::POST, "", "", &old).await??;
        let mut new = change.new;
        new["metadata"] = json!({"name": name, "resourceVersion": stored["metadata"]["resourceVersion"]});
        let Err(status) = server.send(Method::PUT, &format!("/{name}"), "", &new).await? else {
            bail!("change {index} was accepted")
        };
        let causes = causes(&status);
        let same =
            matches!(causes[..], [(field, message)] if field == change.field && message.ends_with(change.message));
        ensure!(same, "change {index}: {causes:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_too_long_or_has_dots_is_refused_with_the_fix() -> Result<()> {
    let test = "a_name_that_is_too_long_or_has_dots_is_refused_with_the_fix";
    let Some(server) = Server::start(test).await? else { return Ok(()) };
    for object in full() {
        for name in ["a.b", "9a", &"a".repeat(41)] {
            let mut object = object.clone();
            object["metadata"]["name"] = json!(name);
            let Err(status) = server.try_to_create(&object).await? else { bail!("{name} was accepted") };
            ensure!(
                status.message.contains("metadata.name must be at most 40 lower-case letters"),
                "{}",
                status.message
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn mistakes_against_the_schema_are_refused_at_the_same_field() -> Result<()> {
    let test = "mistakes_against_the_schema_are_refused_at_the_same_field";
    let Some(server) = Server::start(test).await? else { return Ok(()) };
    let at_field = |mistake: &Mistake, status: &Status| causes(status).iter().any(|(field, _)| *field == mistake.field);
    let rows = [beyond_bounds(), missing_fields(), repeated_items()].concat();
    each_is_refused(&server, &rows, at_field).await
}

#[tokio::test]
async fn unknown_fields_are_refused_by_name() -> Result<()> {
    let Some(server) = Server::start("unknown_fields_are_refused_by_name").await? else { return Ok(()) };
    let named =
        |mistake: &Mistake, status: &Status| status.message.contains(&format!("unknown field {:?}", mistake.field));
    each_is_refused(&server, &unknown_fields(), named).await
}
