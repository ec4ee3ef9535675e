//! Finds libckitchen: in the folder that CKITCHEN_LIB_DIR names, else by pkg-config.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=CKITCHEN_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Ok(folder) = std::env::var("CKITCHEN_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=dylib=ckitchen");
        return;
    }
    let program = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program)
        .args(["--libs", "ckitchen"])
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be run ({error}): install it or set CKITCHEN_LIB_DIR"));
    if !output.status.success() {
        panic!("pkg-config does not know ckitchen: {}", String::from_utf8_lossy(&output.stderr));
    }
    for flag in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
