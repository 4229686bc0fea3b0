//! Rules for manifests: floors, names, inherited fields, versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use toml::Table;

use super::finding::Finding;
use crate::repository::TextFile;

/// Inherited from `[workspace.package]`.
const INHERITED: [&str; 6] = [
    "version",
    "edition",
    "rust-version",
    "license",
    "repository",
    "publish",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyReach {
    Product,
    TestOnly,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the root, with `/`.
    pub(crate) manifest: String,
    pub(crate) floor: Option<u64>,
    pub(crate) reach: DependencyReach,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Test,
}

impl Package {
    pub(crate) fn all(metadata: &Value, root: &Path) -> Result<Vec<Self>> {
        let packages = metadata.get("packages").and_then(Value::as_array);
        let packages = packages.context("`cargo metadata` lists no packages")?;
        packages
            .iter()
            .map(|package| Self::read(package, root))
            .collect()
    }

    fn read(package: &Value, root: &Path) -> Result<Self> {
        let text = |key| package.get(key).and_then(Value::as_str);
        let name = text("name").context("a package has no name")?.to_owned();
        let manifest = Path::new(text("manifest_path").context("a package has no manifest")?);
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
        let ours = package
            .get("metadata")
            .and_then(|metadata| metadata.get("ktx"));
        let test_only = ours
            .and_then(|ours| ours.get("test-only"))
            .and_then(Value::as_bool);
        let dependencies = package.get("dependencies").and_then(Value::as_array);
        Ok(Self {
            name,
            manifest: manifest.to_string_lossy().replace('\\', "/"),
            floor: ours
                .and_then(|ours| ours.get("floor"))
                .and_then(Value::as_u64),
            reach: if test_only == Some(true) {
                DependencyReach::TestOnly
            } else {
                DependencyReach::Product
            },
            dependencies: dependencies
                .into_iter()
                .flatten()
                .filter_map(Dependency::read)
                .collect(),
        })
    }
}

impl Dependency {
    fn read(dependency: &Value) -> Option<Self> {
        let kind = dependency.get("kind").and_then(Value::as_str);
        Some(Self {
            name: dependency.get("name")?.as_str()?.to_owned(),
            kind: if kind == Some("dev") {
                Kind::Test
            } else {
                Kind::Normal
            },
            optional: dependency.get("optional").and_then(Value::as_bool) == Some(true),
        })
    }
}

pub(crate) fn check_packages(packages: &[Package]) -> Vec<Finding> {
    let known: BTreeMap<&str, &Package> = packages
        .iter()
        .map(|package| (package.name.as_str(), package))
        .collect();
    let mut findings = Vec::new();
    for package in packages {
        findings.extend(check_name(package));
        if package.floor.is_none() {
            let what = format!("`{}` has no floor", package.name);
            let cure = "add `floor = N` under `[package.metadata.ktx]`";
            findings.push(Finding::file(&package.manifest, "floor", what, cure));
        }
        for dependency in &package.dependencies {
            if dependency.optional {
                let what = format!("`{}` is optional", dependency.name);
                let cure = "one build, one behaviour: always depend on it, or never";
                findings.push(Finding::file(&package.manifest, "features", what, cure));
            }
            if let Some(target) = known.get(dependency.name.as_str()) {
                findings.extend(check_edge(package, dependency, target));
            }
        }
    }
    findings
}

fn check_name(package: &Package) -> Option<Finding> {
    let folder = package
        .manifest
        .strip_suffix("/Cargo.toml")
        .unwrap_or_default();
    let expected = match folder.rsplit('/').next().unwrap_or_default() {
        "ktx" => "ktx".to_owned(),
        "xtask" => "xtask".to_owned(),
        folder => format!("ktx-{folder}"),
    };
    (package.name != expected).then(|| {
        let what = format!("the package is called `{}`", package.name);
        Finding::file(
            &package.manifest,
            "name",
            what,
            &format!("call it `{expected}`"),
        )
    })
}

fn check_edge(from: &Package, edge: &Dependency, to: &Package) -> Option<Finding> {
    let finding =
        |what: String, cure: &str| Some(Finding::file(&from.manifest, "floor", what, cure));
    if from.name == "xtask" {
        let what = format!("xtask may not depend on `{}`", to.name);
        return finding(what, "every chore would compile it; read its files instead");
    }
    if edge.kind == Kind::Test {
        return None;
    }
    if to.reach == DependencyReach::TestOnly && from.reach == DependencyReach::Product {
        let what = format!("`{}` is only for tests", to.name);
        return finding(what, "move it to `[dev-dependencies]`");
    }
    let (upper, lower) = (from.floor?, to.floor?);
    if lower < upper {
        return None;
    }
    let what = format!(
        "`{}` (floor {upper}) may not depend on `{}` (floor {lower})",
        from.name, to.name
    );
    finding(what, "move the shared part down")
}

pub(crate) fn check_text(file: &TextFile) -> Vec<Finding> {
    let manifest: Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            let what = error.to_string().replace('\n', " ");
            return vec![Finding::file(&file.path, "manifest", what, "write TOML")];
        }
    };
    let mut findings = Vec::new();
    let mut found = |rule, what: String, cure: &str| {
        findings.push(Finding::file(&file.path, rule, what, cure));
    };
    if let Some(package) = manifest.get("package").and_then(toml::Value::as_table) {
        for field in INHERITED
            .iter()
            .filter(|field| !is_inherited(package.get(**field)))
        {
            let cure = format!("write `{field}.workspace = true`");
            found("inherited", format!("`{field}` is its own"), &cure);
        }
        let lints = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"));
        if lints.and_then(toml::Value::as_bool) != Some(true) {
            let what = "the lints of the workspace do not apply".to_owned();
            found("inherited", what, "write `[lints]` with `workspace = true`");
        }
    }
    if manifest.contains_key("features") {
        let what = "the manifest has `[features]`".to_owned();
        found(
            "features",
            what,
            "one build, one behaviour: decide at run time",
        );
    }
    for (name, value) in dependencies(&manifest) {
        if !is_only_inherited(value) && !is_for_tests(&manifest, name, value) {
            let what = format!("`{name}` says more than `workspace = true`");
            let cure = "put its version and features into `[workspace.dependencies]`";
            found("dependency", what, cure);
        }
    }
    findings
}

/// Warns about unused `[workspace.dependencies]`.
pub(crate) fn check_unused(files: &[TextFile]) -> Vec<Finding> {
    let mut manifests: Vec<(&str, Table)> = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"))
    {
        if let Ok(manifest) = file.text.parse() {
            manifests.push((file.path.as_str(), manifest));
        }
    }
    let used: BTreeSet<&str> = manifests
        .iter()
        .flat_map(|(_, manifest)| dependencies(manifest).map(|(name, _)| name))
        .collect();
    manifests
        .iter()
        .filter(|(path, _)| *path == "Cargo.toml")
        .filter_map(|(_, root)| root.get("workspace")?.get("dependencies")?.as_table())
        .flat_map(Table::keys)
        .filter(|name| !used.contains(name.as_str()))
        .map(|name| {
            let what = format!("no member uses `{name}`");
            Finding::file("Cargo.toml", "unused dependency", what, "delete the line").warning()
        })
        .collect()
}

const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn dependencies(manifest: &Table) -> impl Iterator<Item = (&str, &toml::Value)> {
    tables(manifest, &TABLES)
}

/// Excludes test dependencies.
pub(crate) fn shipped_dependencies(manifest: &Table) -> impl Iterator<Item = &str> {
    tables(manifest, &["dependencies", "build-dependencies"]).map(|(name, _)| name)
}

fn tables<'manifest>(
    manifest: &'manifest Table,
    keys: &'static [&'static str],
) -> impl Iterator<Item = (&'manifest str, &'manifest toml::Value)> {
    let platforms = manifest
        .get("target")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(Table::values)
        .filter_map(toml::Value::as_table);
    std::iter::once(manifest)
        .chain(platforms)
        .flat_map(|table| keys.iter().filter_map(|key| table.get(*key)?.as_table()))
        .flat_map(|table| table.iter().map(|(name, value)| (name.as_str(), value)))
}

fn is_inherited(value: Option<&toml::Value>) -> bool {
    value
        .and_then(|value| value.get("workspace"))
        .and_then(toml::Value::as_bool)
        == Some(true)
}

/// Tests can enable more features than the product.
fn is_for_tests(manifest: &Table, name: &str, value: &toml::Value) -> bool {
    let tests = manifest
        .get("dev-dependencies")
        .and_then(|table| table.get(name));
    let keys = value.as_table().is_some_and(|table| {
        table
            .keys()
            .all(|key| key == "workspace" || key == "features")
    });
    tests == Some(value) && is_inherited(Some(value)) && keys
}

fn is_only_inherited(value: &toml::Value) -> bool {
    is_inherited(Some(value)) && value.as_table().is_some_and(|table| table.len() == 1)
}
