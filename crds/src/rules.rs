//! CEL rules that several kinds share. A message says what is wrong and what to write instead.

use kube::core::Rule;

/// Longest name of an object and of everything named inside one.
pub(crate) const NAME_LENGTH: u32 = 40;

/// The name of the object itself, checked at the root.
pub(crate) fn object_name() -> Rule {
    Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message(
        "metadata.name must be at most 40 lower-case letters, digits and hyphens, begin with a letter and end with a \
         letter or digit, for example handbook-2024",
    )
}

/// A name inside an object; its length is bounded by the schema.
pub(crate) fn name() -> Rule {
    Rule::new("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message(
        "must be lower-case letters, digits and hyphens, begin with a letter and end with a letter or digit, for \
         example handbook-2024",
    )
}

/// A union's `type` asks for the struct of that name.
pub(crate) fn needs(type_name: &str, field: &str) -> Rule {
    Rule::new(format!("self.type != '{type_name}' || has(self.{field})"))
        .message(format!("type is {type_name}: add the field {field}, or choose another type").as_str())
}

/// A union's struct is only allowed under its `type`.
pub(crate) fn only_with(field: &str, type_name: &str) -> Rule {
    Rule::new(format!("!has(self.{field}) || self.type == '{type_name}'"))
        .message(format!("{field} is set: set type to {type_name}, or remove {field}").as_str())
}

/// A path that stays inside its folder.
pub(crate) fn relative_path() -> Rule {
    Rule::new(r"!self.matches('(^|/)[.]{0,2}(/|$)') && !self.contains('\\')").message(
        "must be a relative path with / between its parts and without empty, . or .. parts, for example \
         policies/travel.md",
    )
}

/// A list of globs.
pub(crate) fn globs() -> Rule {
    Rule::new("self.all(glob, !glob.startsWith('!'))")
        .message("a pattern must not begin with !: put what is to be left out into exclude, without the !")
}
