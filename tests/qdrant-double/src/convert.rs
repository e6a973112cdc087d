//! Messages of the protocol as values of the engine and back. Filters go by way of the JSON that both know.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions as PayloadOptions;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions as VectorOptions;
use qdrant_client::qdrant::{
    Condition, DenseVector, FieldCondition, Filter, ListValue, NamedVectorsOutput, PointId, SparseVector, Struct,
    Value, Vector, VectorOutput, Vectors, VectorsOutput, WithPayloadSelector, WithVectorsSelector, vector,
    vector_output, vectors_output,
};
use qdrant_edge::external::serde_json::{self, Map, Number, Value as Json, json};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{
    Filter as EdgeFilter, Payload, PointId as EdgeId, SparseVector as EdgeSparse, VectorInternal, VectorPersisted,
    VectorStructInternal, VectorStructPersisted, WithPayloadInterface, WithVector,
};
use std::collections::HashMap;
use tonic::Status;

fn refused(what: &str) -> Status {
    Status::unimplemented(format!("the double has no {what}"))
}

pub fn id(id: PointId) -> Result<EdgeId, Status> {
    match id.point_id_options {
        Some(PointIdOptions::Num(number)) => Ok(EdgeId::NumId(number)),
        Some(PointIdOptions::Uuid(text)) => {
            let uuid = Uuid::parse_str(&text).map_err(|error| Status::invalid_argument(error.to_string()))?;
            Ok(EdgeId::Uuid(uuid))
        }
        None => Err(Status::invalid_argument("a point has no id")),
    }
}

pub fn ids(wanted: Vec<PointId>) -> Result<Vec<EdgeId>, Status> {
    wanted.into_iter().map(id).collect()
}

pub fn id_out(id: EdgeId) -> PointId {
    let options = match id {
        EdgeId::NumId(number) => PointIdOptions::Num(number),
        EdgeId::Uuid(uuid) => PointIdOptions::Uuid(uuid.to_string()),
    };
    PointId { point_id_options: Some(options) }
}

fn id_json(id: PointId) -> Json {
    match id.point_id_options {
        Some(PointIdOptions::Num(number)) => json!(number),
        Some(PointIdOptions::Uuid(text)) => json!(text),
        None => Json::Null,
    }
}

pub fn payload(fields: HashMap<String, Value>) -> Payload {
    Payload(fields.into_iter().map(|(name, value)| (name, value_json(value))).collect())
}

fn value_json(value: Value) -> Json {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => Json::Bool(value),
        Some(Kind::IntegerValue(value)) => json!(value),
        Some(Kind::DoubleValue(value)) => Number::from_f64(value).map_or(Json::Null, Json::Number),
        Some(Kind::StringValue(value)) => Json::String(value),
        Some(Kind::ListValue(list)) => Json::Array(list.values.into_iter().map(value_json).collect()),
        Some(Kind::StructValue(fields)) => {
            Json::Object(fields.fields.into_iter().map(|(name, value)| (name, value_json(value))).collect())
        }
    }
}

pub fn payload_out(payload: Option<Payload>) -> HashMap<String, Value> {
    let fields = payload.map(|payload| payload.0).unwrap_or_default();
    fields.into_iter().map(|(name, value)| (name, json_value(value))).collect()
}

fn json_value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Kind::IntegerValue(value),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        Json::String(value) => Kind::StringValue(value),
        Json::Array(values) => Kind::ListValue(ListValue { values: values.into_iter().map(json_value).collect() }),
        Json::Object(fields) => Kind::StructValue(Struct {
            fields: fields.into_iter().map(|(name, value)| (name, json_value(value))).collect(),
        }),
    };
    Value { kind: Some(kind) }
}

pub fn filter(filter: Option<Filter>) -> Result<Option<EdgeFilter>, Status> {
    let Some(filter) = filter else { return Ok(None) };
    let json = filter_json(filter)?;
    serde_json::from_value(json).map(Some).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn filter_json(filter: Filter) -> Result<Json, Status> {
    let mut json = Map::new();
    for (name, conditions) in [("must", filter.must), ("should", filter.should), ("must_not", filter.must_not)] {
        if !conditions.is_empty() {
            let conditions = conditions.into_iter().map(condition_json).collect::<Result<_, _>>()?;
            json.insert(name.to_owned(), Json::Array(conditions));
        }
    }
    match filter.min_should {
        Some(_) => Err(refused("min_should")),
        None => Ok(Json::Object(json)),
    }
}

fn condition_json(condition: Condition) -> Result<Json, Status> {
    match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => field_json(field),
        Some(ConditionOneOf::HasId(ids)) => {
            Ok(json!({"has_id": ids.has_id.into_iter().map(id_json).collect::<Vec<_>>()}))
        }
        Some(ConditionOneOf::HasVector(vector)) => Ok(json!({"has_vector": vector.has_vector})),
        Some(ConditionOneOf::IsEmpty(empty)) => Ok(json!({"is_empty": {"key": empty.key}})),
        Some(ConditionOneOf::Filter(filter)) => filter_json(filter),
        _ => Err(refused("such a condition")),
    }
}

fn field_json(field: FieldCondition) -> Result<Json, Status> {
    if let Some(range) = field.range {
        let range = json!({"gte": range.gte, "lte": range.lte, "gt": range.gt, "lt": range.lt});
        return Ok(json!({"key": field.key, "range": range}));
    }
    let wanted = match field.r#match.and_then(|wanted| wanted.match_value) {
        Some(MatchValue::Keyword(value)) => json!({"value": value}),
        Some(MatchValue::Integer(value)) => json!({"value": value}),
        Some(MatchValue::Boolean(value)) => json!({"value": value}),
        Some(MatchValue::Keywords(values)) => json!({"any": values.strings}),
        Some(MatchValue::Integers(values)) => json!({"any": values.integers}),
        _ => return Err(refused("such a match")),
    };
    Ok(json!({"key": field.key, "match": wanted}))
}

pub fn with_payload(selector: Option<WithPayloadSelector>) -> WithPayloadInterface {
    let fields = |names: Vec<String>| names.iter().filter_map(|name| name.parse().ok()).collect();
    match selector.and_then(|selector| selector.selector_options) {
        None => WithPayloadInterface::Bool(false),
        Some(PayloadOptions::Enable(all)) => WithPayloadInterface::Bool(all),
        Some(PayloadOptions::Include(include)) => WithPayloadInterface::Fields(fields(include.fields)),
        Some(PayloadOptions::Exclude(_)) => WithPayloadInterface::Bool(true),
    }
}

pub fn with_vectors(selector: Option<WithVectorsSelector>) -> WithVector {
    match selector.and_then(|selector| selector.selector_options) {
        None => WithVector::Bool(false),
        Some(VectorOptions::Enable(all)) => WithVector::Bool(all),
        Some(VectorOptions::Include(include)) => WithVector::Selector(include.names),
    }
}

pub fn vectors(vectors: Option<Vectors>) -> Result<VectorStructPersisted, Status> {
    let named = match vectors.and_then(|vectors| vectors.vectors_options) {
        None => HashMap::new(),
        Some(VectorsOptions::Vectors(named)) => named.vectors,
        Some(VectorsOptions::Vector(_)) => return Err(refused("unnamed vectors")),
    };
    let named = named.into_iter().map(|(name, vector)| Ok((name, persisted(vector)?)));
    Ok(VectorStructPersisted::Named(named.collect::<Result<_, Status>>()?))
}

fn persisted(vector: Vector) -> Result<VectorPersisted, Status> {
    match vector.vector {
        Some(vector::Vector::Dense(dense)) => Ok(VectorPersisted::Dense(dense.data)),
        Some(vector::Vector::Sparse(sparse)) => Ok(VectorPersisted::Sparse(edge_sparse(sparse)?)),
        _ => Err(refused("such a vector")),
    }
}

pub fn edge_sparse(sparse: SparseVector) -> Result<EdgeSparse, Status> {
    let mut both: Vec<(u32, f32)> = sparse.indices.into_iter().zip(sparse.values).collect();
    both.sort_unstable_by_key(|(index, _)| *index);
    let (indices, values) = both.into_iter().unzip();
    EdgeSparse::new(indices, values).map_err(|error| Status::invalid_argument(error.to_string()))
}

pub fn vectors_out(vectors: Option<VectorStructInternal>) -> Option<VectorsOutput> {
    let VectorStructInternal::Named(named) = vectors? else { return None };
    let vectors = named.into_iter().filter_map(|(name, vector)| Some((name, vector_out(vector)?))).collect();
    Some(VectorsOutput {
        vectors_options: Some(vectors_output::VectorsOptions::Vectors(NamedVectorsOutput { vectors })),
    })
}

fn vector_out(vector: VectorInternal) -> Option<VectorOutput> {
    let vector = match vector {
        VectorInternal::Dense(data) => vector_output::Vector::Dense(DenseVector { data }),
        VectorInternal::Sparse(sparse) => {
            vector_output::Vector::Sparse(SparseVector { indices: sparse.indices, values: sparse.values })
        }
        VectorInternal::MultiDense(_) => return None,
    };
    Some(VectorOutput { vector: Some(vector), ..VectorOutput::default() })
}
