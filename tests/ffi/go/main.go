// The client in Go: ffi_test.py says what it does.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"ckitchen"
)

type problem struct {
	operator string
	values   map[string][]string
	memory   map[string]*ckitchen.Buffer
	outputs  []string
}

// Files that cannot be read and numbers that are none are mistakes of the test.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func read(context *ckitchen.Context, folder string) *problem {
	p := &problem{values: map[string][]string{}, memory: map[string]*ckitchen.Buffer{}}
	for _, line := range strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(folder, "problem"))))), "\n") {
		words := strings.Fields(line)
		switch words[0] {
		case "op":
			p.operator = words[1]
		case "in":
			data := must(os.ReadFile(filepath.Join(folder, words[2])))
			buffer := must(context.NewBuffer(len(data)))
			must(0, buffer.Write(data))
			p.memory[words[1]] = buffer
		case "out":
			p.memory[words[1]] = must(context.NewBuffer(must(strconv.Atoi(words[2]))))
			p.outputs = append(p.outputs, words[1])
		default:
			p.values[words[1]] = words[2:]
		}
	}
	return p
}

func (p *problem) text(name string, index int) string {
	if values := p.values[name]; values != nil {
		return values[index]
	}
	return "0"
}

func (p *problem) int(name string) int64   { return must(strconv.ParseInt(p.text(name, 0), 10, 64)) }
func (p *problem) uint(name string) uint64 { return must(strconv.ParseUint(p.text(name, 0), 10, 64)) }
func (p *problem) float(name string) float32 {
	return float32(must(strconv.ParseFloat(p.text(name, 0), 32)))
}

func (p *problem) triple(name string) (numbers [3]int32) {
	for index := range numbers {
		numbers[index] = int32(must(strconv.Atoi(p.text(name, index))))
	}
	return numbers
}

func (p *problem) at(name string) unsafe.Pointer {
	if buffer := p.memory[name]; buffer != nil {
		return buffer.Pointer()
	}
	return nil
}

// Workspace, preparation, the call itself, and the wait for it.
func run(context *ckitchen.Context, stream unsafe.Pointer, args ckitchen.Args, size uint64, err error, workspace *unsafe.Pointer,
	workspaceSize *uint64, call func() error) error {
	if err != nil {
		return err
	}
	buffer := must(context.NewBuffer(int(size)))
	defer buffer.Close()
	if err := context.Prepare(args); err != nil {
		return err
	}
	*workspace, *workspaceSize = buffer.Pointer(), size
	if err := call(); err != nil {
		return err
	}
	return context.Synchronize(stream)
}

func (p *problem) call(context *ckitchen.Context, stream unsafe.Pointer) error {
	switch p.operator {
	case "context":
		other, err := ckitchen.NewContext(&ckitchen.Options{Backend: ckitchen.BackendCPU, Disable: p.text("disable", 0)})
		if err == nil {
			other.Close()
		}
		return err
	case "int8_gemm":
		args := &ckitchen.Int8GemmArgs{
			OutDtype: ckitchen.Dtype(p.int("out_dtype")), M: p.int("m"), N: p.int("n"), K: p.int("k"),
			A: p.at("a"), Lda: p.int("lda"), B: p.at("b"), Ldb: p.int("ldb"), C: p.at("c"), Ldc: p.int("ldc"),
			ScaleA: p.at("scale_a"), ScaleAMode: ckitchen.ScaleMode(p.int("scale_a_mode")),
			ScaleB: p.at("scale_b"), ScaleBMode: ckitchen.ScaleMode(p.int("scale_b_mode")),
			Bias: p.at("bias"), BiasDtype: ckitchen.Dtype(p.int("bias_dtype")),
		}
		size, err := context.Int8GemmWorkspaceSize(args)
		return run(context, stream, args, size, err, &args.Workspace, &args.WorkspaceSize,
			func() error { return context.Int8Gemm(args, stream) })
	case "w4a8_requant":
		args := &ckitchen.W4a8RequantArgs{
			Dtype: ckitchen.Dtype(p.int("dtype")), N: p.int("n"), K: p.int("k"), Weight: p.at("weight"),
			Group: int32(p.int("group")), Layout: ckitchen.W4a8Layout(p.int("layout")),
			SRelDtype: ckitchen.Dtype(p.int("s_rel_dtype")), Seed: p.uint("seed"), RowOffset: p.uint("row_offset"),
			Codebook: p.at("codebook"), Packed: p.at("packed"), SRel: p.at("s_rel"), SChannel: p.at("s_channel"),
			Correction: p.at("correction"), LdCorrection: p.int("ld_correction"),
		}
		size, err := context.W4a8RequantWorkspaceSize(args)
		return run(context, stream, args, size, err, &args.Workspace, &args.WorkspaceSize,
			func() error { return context.W4a8Requant(args, stream) })
	case "na3d":
		args := &ckitchen.Na3dArgs{
			Dtype: ckitchen.Dtype(p.int("dtype")), Batch: p.int("batch"), T: p.int("t"), H: p.int("h"), W: p.int("w"),
			Heads: p.int("heads"), HeadDim: p.int("head_dim"), Q: p.at("q"), K: p.at("k"), V: p.at("v"), Out: p.at("out"),
			Kernel: p.triple("kernel"), Dilation: p.triple("dilation"), Causal: p.triple("causal"), Scale: p.float("scale"),
		}
		size, err := context.Na3dWorkspaceSize(args)
		return run(context, stream, args, size, err, &args.Workspace, &args.WorkspaceSize,
			func() error { return context.Na3d(args, stream) })
	}
	return fmt.Errorf("no operator is called %s", p.operator)
}

func main() {
	backends := map[string]ckitchen.Backend{"cpu": ckitchen.BackendCPU, "hip": ckitchen.BackendHIP, "cuda": ckitchen.BackendCUDA}
	context := must(ckitchen.NewContext(&ckitchen.Options{Backend: backends[os.Args[1]]}))
	defer context.Close()
	stream := must(context.NewStream())
	for _, folder := range os.Args[2:] {
		p := read(context, folder)
		if err := p.call(context, stream); err != nil {
			var failure *ckitchen.Error
			if !errors.As(err, &failure) {
				must(0, err)
			}
			text := fmt.Sprintf("%d\n%s\n", int32(failure.Status), failure.Text)
			must(0, os.WriteFile(filepath.Join(folder, "error"), []byte(text), 0o644))
		} else {
			for _, name := range p.outputs {
				data := make([]byte, p.memory[name].Size())
				must(0, p.memory[name].Read(data))
				must(0, os.WriteFile(filepath.Join(folder, name+".out"), data, 0o644))
			}
		}
		for _, buffer := range p.memory {
			must(0, buffer.Close())
		}
	}
	must(0, context.CloseStream(stream))
	info := must(context.Info())
	var calls uint64
	for _, variant := range must(context.Variants()) {
		calls += variant.Calls
	}
	for name, backend := range backends {
		if backend == info.Backend {
			fmt.Printf("device %s %s, %d calls\n", name, ckitchen.Text(info.Arch[:]), calls)
		}
	}
}
