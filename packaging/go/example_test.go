package ckitchen_test

import (
	"fmt"
	"log"

	"ckitchen"
)

// One row quantized on the CPU.
func Example() {
	context, err := ckitchen.NewContext(&ckitchen.Options{Backend: ckitchen.BackendCPU})
	if err != nil {
		log.Fatal(err)
	}
	defer context.Close()

	buffer := func(size int) *ckitchen.Buffer {
		b, err := context.NewBuffer(size)
		if err != nil {
			log.Fatal(err)
		}
		return b
	}
	x, q, scale := buffer(16), buffer(4), buffer(4)
	defer x.Close()
	defer q.Close()
	defer scale.Close()

	if err := x.Write(ckitchen.Bytes([]float32{1, -2, 0.5, 0})); err != nil {
		log.Fatal(err)
	}
	args := ckitchen.Int8QuantizeArgs{
		Dtype: ckitchen.F32, Rows: 1, K: 4, X: x.Pointer(), Q: q.Pointer(), Scale: scale.Pointer(),
	}
	if err := context.Int8Quantize(&args, nil); err != nil {
		log.Fatal(err)
	}
	values := make([]int8, 4)
	if err := q.Read(ckitchen.Bytes(values)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(values)

	args.Ldx = 3 // a mistake: rows are 4 wide
	fmt.Println(context.Int8Quantize(&args, nil))
	// Output:
	// [64 -127 32 0]
	// ck_int8_quantize: ldx is 3, must be at least k = 4 and at most 281474976710656 (0 = packed) (CK_ERROR_INVALID_ARGUMENT)
}
