//go:build wasip1

package main

import "unsafe"

//go:linkname sbrk runtime.sbrk
func sbrk(n uintptr) unsafe.Pointer

// Where the next allocation goes, and where what was taken from the runtime ends.
var next, end uintptr

// cabiRealloc gives memory to whoever calls this component. Three traps are avoided by taking it from the runtime's sbrk, never from
// the heap and never by growing memory itself:
//   - The adapter for WASI asks for memory before the Go runtime is up, when there is no heap.
//   - The runtime believes that nobody else grows memory, and would use the same pages again.
//   - An allocation on the heap may start a collection, which asks for the time; a component must not call out while it allocates
//     for a caller ("cannot leave component instance").
//
// Nothing is freed: an instance renders one chart.
//
//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, newSize uint32) unsafe.Pointer {
	at := (next + uintptr(align) - 1) &^ (uintptr(align) - 1)
	if at+uintptr(newSize) > end {
		// sbrk gives whole pages, so small allocations share some.
		want := uintptr(newSize)
		if want < 1<<18 {
			want = 1 << 18
		}
		at = uintptr(sbrk(want))
		end = at + want
	}
	next = at + uintptr(newSize)
	given := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(given), newSize), unsafe.Slice((*byte)(old), oldSize))
	}
	return given
}
