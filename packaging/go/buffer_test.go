package ckitchen_test

import (
	"testing"

	"ckitchen"
)

func TestPointerOfClosedBufferPanics(t *testing.T) {
	context, err := ckitchen.NewContext(&ckitchen.Options{Backend: ckitchen.BackendCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer context.Close()
	for _, size := range []int{0, 16} {
		buffer, err := context.NewBuffer(size)
		if err != nil {
			t.Fatal(err)
		}
		if buffer.Pointer() == nil && size > 0 {
			t.Error("an open buffer has no pointer")
		}
		for i := 0; i < 2; i++ {
			if err := buffer.Close(); err != nil {
				t.Error(err)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d bytes: no panic", size)
				}
			}()
			buffer.Pointer()
		}()
	}
}
