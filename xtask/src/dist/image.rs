//! The image: the program, the C library that it needs, and certificates, for a user who may write to one volume only.
//!
//! One file, which `docker load`, `podman load`, and `skopeo` read: an OCI layout, with the manifest of older Docker
//! versions beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::formats::{debian_architecture, gzip, tar};
use super::{DOCUMENTS, Package, put};
use crate::process::{output, run};

/// The user in the image: it has no rights, and is no user of the host.
pub(super) const USER: &str = "65532";
/// The volume, in which runs are stored.
pub(super) const VOLUME: &str = "data";

const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Makes the image.
pub(super) fn make(package: &Package) -> Result<(), String> {
    let root = package.tree.with_file_name("root");
    fs::remove_dir_all(&root).ok();
    fill(package, &root)?;
    let layout = package.tree.with_file_name("layout");
    fs::remove_dir_all(&layout).ok();
    let layer = layout.join("layer");
    put(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let own = format!("./{VOLUME}");
    tar(package, &root, &layer, &["-c", "--owner=0", "--group=0", "--exclude", &own])?;
    // The volume is the user's.
    let user = [format!("--owner={USER}"), format!("--group={USER}")];
    let inside = format!("--transform=s,^\\.,{own},");
    tar(package, &root.join(VOLUME), &layer, &["-r", &user[0], &user[1], &inside])?;
    let unpacked = digest(&layer)?;
    gzip(&layer)?;
    let (layer, layer_path) = stored(&layout, &layer.with_extension("gz"), "layer.v1.tar+gzip")?;
    let config = json_file(&layout, &settings(package, &unpacked)?)?;
    let (config, config_path) = stored(&layout, &config, "config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let (mut manifest, _) = stored(&layout, &json_file(&layout, &manifest)?, "manifest.v1+json")?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": package.version });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    put(&layout.join("index.json"), &index.to_string())?;
    let older = json!([{
        "Config": config_path,
        "RepoTags": [format!("highwater:{}", package.version)],
        "Layers": [layer_path],
    }]);
    put(&layout.join("manifest.json"), &older.to_string())?;
    let to = package.out.join(format!("{}-image.tar", package.name()));
    let bare = "--transform=s,^\\./,,";
    tar(package, &layout, &to, &["-c", "--owner=0", "--group=0", bare, "--exclude=./config.json"])
}

/// The files of the image.
fn fill(package: &Package, root: &Path) -> Result<(), String> {
    let program = package.tree.join("bin/highwater");
    let usr = root.join("usr");
    fs::create_dir_all(root.join(VOLUME)).map_err(|error| error.to_string())?;
    run(Command::new("install")
        .args(["-D", "-m755"])
        .arg(&program)
        .arg(usr.join("bin/highwater")))?;
    let documents = usr.join(DOCUMENTS);
    fs::create_dir_all(&documents).map_err(|error| error.to_string())?;
    run(Command::new("cp").arg("-r").arg(package.tree.join(DOCUMENTS).join(".")).arg(&documents))?;
    let user = format!("highwater:x:{USER}:{USER}::/{VOLUME}:/usr/bin/highwater\n");
    put(&root.join("etc/passwd"), &format!("root:x:0:0::/:/usr/bin/highwater\n{user}"))?;
    put(&root.join("etc/group"), &format!("root:x:0:\nhighwater:x:{USER}:\n"))?;
    put(&root.join("etc/nsswitch.conf"), "hosts: files dns\n")?;
    let mut files = libraries(&program)?;
    files.push(PathBuf::from("/").join(CERTIFICATES));
    files.push(PathBuf::from("/usr/share/doc/libc6/copyright"));
    for file in files {
        let place = root.join(file.strip_prefix("/").unwrap_or(&file));
        run(Command::new("install").args(["-D", "-m755"]).arg(&file).arg(place))?;
    }
    Ok(())
}

/// The C library of this machine, as far as the program needs it; each as an absolute path.
pub(super) fn libraries(program: &Path) -> Result<Vec<PathBuf>, String> {
    let text = output(Command::new("ldd").arg(program))?;
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).collect())
}

/// The image's settings.
fn settings(package: &Package, layer: &str) -> Result<Value, String> {
    let time = format!("@{}", package.time);
    let created = output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &time]))?;
    let created = created.trim();
    let volume = format!("/{VOLUME}");
    Ok(json!({
        "created": created,
        "architecture": debian_architecture(package),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin", format!("HOME={volume}")],
            "Entrypoint": ["/usr/bin/highwater"],
            "Cmd": ["--help"],
            "WorkingDir": volume,
            "Volumes": { volume.as_str(): {} },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    }))
}

fn json_file(layout: &Path, value: &Value) -> Result<PathBuf, String> {
    let file = layout.join("config.json");
    put(&file, &value.to_string())?;
    Ok(file)
}

/// Moves a file to the place of its content, and returns how a manifest refers to it, and the place.
fn stored(layout: &Path, file: &Path, kind: &str) -> Result<(Value, String), String> {
    let digest = digest(file)?;
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    let place = format!("blobs/sha256/{digest}");
    put(&layout.join(&place), "")?;
    fs::rename(file, layout.join(&place)).map_err(|error| error.to_string())?;
    let kind = format!("application/vnd.oci.image.{kind}");
    Ok((json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size }), place))
}

fn digest(file: &Path) -> Result<String, String> {
    let text = output(Command::new("sha256sum").arg(file))?;
    Ok(text.split_whitespace().next().unwrap_or_default().to_owned())
}
