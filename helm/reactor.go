//go:build wasip1

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"unsafe"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// The canonical ABI of wit/world.wit, by hand: it is two functions, and generators for Go allocate where a component must not (see
// realloc.go).

// result is a `result<string, string>` in memory. Kept here, because whoever called reads it after the call returned.
var result struct {
	failed    uint32
	text, len uint32
}
var text []byte

//go:wasmexport render-archive
func renderArchive(archive unsafe.Pointer, archiveLen uint32, request unsafe.Pointer, requestLen uint32) unsafe.Pointer {
	return answer(request, requestLen, func() (*chart.Chart, error) {
		return loader.LoadArchive(bytes.NewReader(unsafe.Slice((*byte)(archive), archiveLen)))
	})
}

//go:wasmexport render-folder
func renderFolder(files unsafe.Pointer, filesLen uint32, request unsafe.Pointer, requestLen uint32) unsafe.Pointer {
	type tuple struct{ name, nameLen, data, dataLen uint32 }
	return answer(request, requestLen, func() (*chart.Chart, error) {
		var all []File
		for _, file := range unsafe.Slice((*tuple)(files), filesLen) {
			all = append(all, File{Name: string(bytesAt(file.name, file.nameLen)), Data: bytesAt(file.data, file.dataLen)})
		}
		kept, err := kept(all)
		if err != nil {
			return nil, err
		}
		return loader.LoadFiles(kept)
	})
}

// bytesAt is what the caller put there. An address of this memory is a number of 32 bits there, and a pointer of 64 here.
func bytesAt(at, length uint32) []byte {
	if length == 0 {
		return nil
	}
	address := uintptr(at)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), length)
}

func answer(request unsafe.Pointer, requestLen uint32, load func() (*chart.Chart, error)) unsafe.Pointer {
	answer, err := try(unsafe.Slice((*byte)(request), requestLen), load)
	var said any = answer
	result.failed = 0
	if err != nil {
		failure := new(Failure)
		if !errors.As(err, &failure) {
			failure = &Failure{Step: "chart", Message: err.Error()}
		}
		result.failed, said = 1, failure
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(said); err != nil {
		result.failed = 1
		buffer.Reset()
		fmt.Fprintf(&buffer, `{"step":"manifest","message":%q}`, err.Error())
	}
	text = buffer.Bytes()
	result.text, result.len = uint32(uintptr(unsafe.Pointer(unsafe.SliceData(text)))), uint32(len(text))
	return unsafe.Pointer(&result)
}

func try(request []byte, load func() (*chart.Chart, error)) (answer *Answer, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = failed("bug", fmt.Errorf("Helm panicked: %v", panicked))
		}
	}()
	var req Request
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, failed("bug", err)
	}
	ch, err := load()
	if err != nil {
		return nil, failed("chart", err)
	}
	return render(ch, &req)
}

func init() {
	// What Helm only mentions would be the last words of a render that fails for another reason.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
}

func main() {}
