//! The client in Rust: ffi_test.py says what it does.

use ckitchen::{sys, Buffer, Context, Error, Options, Stream};
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::{env, fs};

/// The lines of a problem by the name of the field.
struct Problem {
    operator: String,
    values: HashMap<String, Vec<String>>,
    inputs: Vec<(String, String)>,
    outputs: Vec<(String, usize)>,
}

impl Problem {
    fn read(folder: &Path) -> Problem {
        let text = fs::read_to_string(folder.join("problem")).expect("the problem can be read");
        let mut problem = Problem { operator: String::new(), values: HashMap::new(), inputs: vec![], outputs: vec![] };
        for line in text.lines() {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            match words[0].as_str() {
                "op" => problem.operator = words[1].clone(),
                "in" => problem.inputs.push((words[1].clone(), words[2].clone())),
                "out" => problem.outputs.push((words[1].clone(), words[2].parse().expect("bytes"))),
                _ => {
                    problem.values.insert(words[1].clone(), words[2..].to_vec());
                }
            }
        }
        problem
    }

    /// The field's value, 0 where the problem has none.
    fn get<T: std::str::FromStr + Default>(&self, name: &str) -> T {
        self.values.get(name).map_or_else(T::default, |v| v[0].parse().unwrap_or_else(|_| panic!("{name} is {}", v[0])))
    }

    fn triple(&self, name: &str) -> [i32; 3] {
        let numbers = self.values.get(name).map_or(vec![0; 3], |v| v.iter().map(|n| n.parse().expect("a number")).collect());
        numbers.try_into().expect("three numbers")
    }
}

struct Memory<'c>(HashMap<String, Buffer<'c>>);

impl Memory<'_> {
    fn at<T>(&self, name: &str) -> *mut T {
        self.0.get(name).map_or(std::ptr::null_mut(), |buffer| buffer.as_mut_ptr().cast())
    }
}

/// Workspace, preparation, the call itself, and the wait for it.
fn run<A: sys::Operator>(
    context: &Context,
    stream: &Stream,
    mut args: A,
    set_workspace: impl Fn(&mut A, *mut c_void, u64),
) -> Result<(), Error> {
    let bytes = context.workspace_size(&args)?;
    let workspace = context.alloc(bytes as usize)?;
    context.prepare(&args)?;
    set_workspace(&mut args, workspace.as_mut_ptr(), bytes);
    // SAFETY: the problem's buffers are as large as its fields say, or the library refuses them before it uses them.
    unsafe { context.run(&args, Some(stream))? };
    context.synchronize(Some(stream))
}

fn call(context: &Context, stream: &Stream, p: &Problem, m: &Memory) -> Result<(), Error> {
    match p.operator.as_str() {
        "context" => {
            let disable = p.values.get("disable").map(|v| v[0].clone());
            Context::new(&Options { backend: sys::CK_BACKEND_CPU, disable, ..Options::default() }).map(drop)
        }
        "int8_gemm" => {
            let args = sys::ck_int8_gemm_args {
                out_dtype: p.get("out_dtype"),
                m: p.get("m"),
                n: p.get("n"),
                k: p.get("k"),
                a: m.at("a"),
                lda: p.get("lda"),
                b: m.at("b"),
                ldb: p.get("ldb"),
                c: m.at("c"),
                ldc: p.get("ldc"),
                scale_a: m.at("scale_a"),
                scale_b: m.at("scale_b"),
                scale_a_mode: p.get("scale_a_mode"),
                scale_b_mode: p.get("scale_b_mode"),
                bias: m.at("bias"),
                bias_dtype: p.get("bias_dtype"),
                ..Default::default()
            };
            run(context, stream, args, |args, pointer, bytes| (args.workspace, args.workspace_size) = (pointer, bytes))
        }
        "w4a8_requant" => {
            let args = sys::ck_w4a8_requant_args {
                dtype: p.get("dtype"),
                n: p.get("n"),
                k: p.get("k"),
                weight: m.at("weight"),
                group: p.get("group"),
                layout: p.get("layout"),
                s_rel_dtype: p.get("s_rel_dtype"),
                seed: p.get("seed"),
                row_offset: p.get("row_offset"),
                codebook: m.at("codebook"),
                packed: m.at("packed"),
                s_rel: m.at("s_rel"),
                s_channel: m.at("s_channel"),
                correction: m.at("correction"),
                ld_correction: p.get("ld_correction"),
                ..Default::default()
            };
            run(context, stream, args, |args, pointer, bytes| (args.workspace, args.workspace_size) = (pointer, bytes))
        }
        "na3d" => {
            let args = sys::ck_na3d_args {
                dtype: p.get("dtype"),
                batch: p.get("batch"),
                t: p.get("t"),
                h: p.get("h"),
                w: p.get("w"),
                heads: p.get("heads"),
                head_dim: p.get("head_dim"),
                q: m.at("q"),
                k: m.at("k"),
                v: m.at("v"),
                out: m.at("out"),
                kernel: p.triple("kernel"),
                dilation: p.triple("dilation"),
                causal: p.triple("causal"),
                scale: p.get("scale"),
                ..Default::default()
            };
            run(context, stream, args, |args, pointer, bytes| (args.workspace, args.workspace_size) = (pointer, bytes))
        }
        other => panic!("no operator is called {other}"),
    }
}

fn follow(context: &Context, stream: &Stream, folder: &Path) -> Result<(), Error> {
    let problem = Problem::read(folder);
    let mut memory = Memory(HashMap::new());
    for (name, file) in &problem.inputs {
        let data = fs::read(folder.join(file)).expect("the input can be read");
        memory.0.insert(name.clone(), context.upload(&data)?);
    }
    for (name, bytes) in &problem.outputs {
        memory.0.insert(name.clone(), context.alloc(*bytes)?);
    }
    if let Err(error) = call(context, stream, &problem, &memory) {
        fs::write(folder.join("error"), format!("{}\n{}\n", error.status, error.text)).expect("the error can be written");
        return Ok(());
    }
    for (name, _) in &problem.outputs {
        let data: Vec<u8> = memory.0[name].download()?;
        fs::write(folder.join(format!("{name}.out")), data).expect("the output can be written");
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = env::args().collect();
    let names = [("cpu", sys::CK_BACKEND_CPU), ("hip", sys::CK_BACKEND_HIP), ("cuda", sys::CK_BACKEND_CUDA)];
    let backend = names.iter().find(|(name, _)| *name == arguments[1]).expect("a backend").1;
    let context = Context::new(&Options { backend, ..Options::default() })?;
    let stream = context.stream()?;
    for folder in &arguments[2..] {
        follow(&context, &stream, Path::new(folder))?;
    }
    let info = context.info()?;
    let name = names.iter().find(|(_, backend)| *backend == info.backend).expect("a backend").0;
    println!("device {name} {}, last variant {}", info.arch, ckitchen::last_variant());
    Ok(())
}
