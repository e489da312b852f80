package main

import (
	"bytes"
	"io/fs"
	"path"
	"sort"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/ignore"
)

// File is one of a chart's folder.
type File struct {
	Name string
	Data []byte
}

// kept is what Helm would read of a folder: without what .helmignore names, in the order in which Helm walks.
func kept(files []File) ([]*archive.BufferedFile, error) {
	rules := ignore.Empty()
	for _, file := range files {
		if file.Name == ignore.HelmIgnore {
			var err error
			if rules, err = ignore.Parse(bytes.NewReader(file.Data)); err != nil {
				return nil, err
			}
		}
	}
	rules.AddDefaults()
	// A folder's files come before those of a later name in the folder above, as in a walk.
	sort.Slice(files, func(a, b int) bool {
		one, other := strings.Split(files[a].Name, "/"), strings.Split(files[b].Name, "/")
		for at := 0; at < len(one) && at < len(other); at++ {
			if one[at] != other[at] {
				return one[at] < other[at]
			}
		}
		return len(one) < len(other)
	})
	var all []*archive.BufferedFile
	for _, file := range files {
		if !ignored(rules, file.Name) {
			data := bytes.TrimPrefix(file.Data, []byte{0xEF, 0xBB, 0xBF})
			all = append(all, &archive.BufferedFile{Name: file.Name, Data: data})
		}
	}
	return all, nil
}

// ignored says whether the file or a folder above it is left out.
func ignored(rules *ignore.Rules, name string) bool {
	for at := range name {
		if name[at] == '/' && rules.Ignore(name[:at], entry{name[:at], true}) {
			return true
		}
	}
	return rules.Ignore(name, entry{name, false})
}

// entry is what the rules ask of a file.
type entry struct {
	name   string
	folder bool
}

func (e entry) Name() string       { return path.Base(e.name) }
func (e entry) Size() int64        { return 0 }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.folder }
func (e entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir
	}
	return 0
}
