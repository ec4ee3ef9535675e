package ckitchen_test

import (
	"strings"
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

func TestClosedBufferIsNeitherReadNorWritten(t *testing.T) {
	context, err := ckitchen.NewContext(&ckitchen.Options{Backend: ckitchen.BackendCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer context.Close()
	buffer, err := context.NewBuffer(16)
	if err != nil {
		t.Fatal(err)
	}
	if err := buffer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 16} {
		for _, err := range []error{buffer.Write(make([]byte, size)), buffer.Read(make([]byte, size))} {
			if err == nil || !strings.Contains(err.Error(), "the buffer is closed") {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}
}

func TestNegativeSize(t *testing.T) {
	context, err := ckitchen.NewContext(&ckitchen.Options{Backend: ckitchen.BackendCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer context.Close()
	for _, size := range []int{-1, -8, -1 << 63} {
		_, err := context.NewBuffer(size)
		if err == nil || !strings.Contains(err.Error(), "NewBuffer: size is -") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
