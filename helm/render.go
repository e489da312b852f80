// Helm as a function: a chart and values in, objects out. It has no files, no network, no environment and no cluster.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Request is what is asked beside the chart.
type Request struct {
	Release     string          `json:"release"`
	Namespace   string          `json:"namespace"`
	Values      json.RawMessage `json:"values"`
	KubeVersion string          `json:"kubeVersion"`
	// Beside those that Helm knows of itself, as with `helm template --api-versions`.
	APIVersions []string `json:"apiVersions"`
}

// Answer is what the chart makes of it.
type Answer struct {
	Chart   string `json:"chart"`
	Version string `json:"version"`
	// As `helm template --include-crds` prints it.
	Text string `json:"text"`
	// In the order in which Helm installs them.
	CRDs    []json.RawMessage `json:"crds"`
	Objects []json.RawMessage `json:"objects"`
	Hooks   []Hook            `json:"hooks"`
	Notes   string            `json:"notes,omitempty"`
}

// Hook is an object that belongs to a moment and not to the release.
type Hook struct {
	Object         json.RawMessage `json:"object"`
	Events         []string        `json:"events"`
	Weight         int             `json:"weight"`
	DeletePolicies []string        `json:"deletePolicies"`
}

// Failure is why there is no answer: at which step, in Helm's own words.
type Failure struct {
	Step    string `json:"step"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

func failed(step string, err error) error {
	return &Failure{Step: step, Message: err.Error()}
}

// render does what `helm template` does between reading the chart and printing.
func render(ch *chart.Chart, req *Request) (*Answer, error) {
	if err := installable(ch); err != nil {
		return nil, failed("chart", err)
	}
	if err := chartutil.ValidateReleaseName(req.Release); err != nil {
		return nil, failed("release", err)
	}
	values, err := loader.LoadValues(bytes.NewReader(req.Values))
	if err != nil {
		return nil, failed("values", err)
	}
	if err := chartutil.ProcessDependencies(ch, values); err != nil {
		return nil, failed("values", fmt.Errorf("chart dependencies processing failed: %w", err))
	}
	capabilities := common.DefaultCapabilities.Copy()
	version, err := common.ParseKubeVersion(req.KubeVersion)
	if err != nil {
		return nil, failed("kubernetes", fmt.Errorf("invalid kube version '%s': %w", req.KubeVersion, err))
	}
	capabilities.KubeVersion = *version
	capabilities.APIVersions = append(append(common.VersionSet{}, capabilities.APIVersions...), req.APIVersions...)
	release := common.ReleaseOptions{Name: req.Release, Namespace: req.Namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValuesWithSchemaValidation(ch, values, release, capabilities, false)
	if err != nil {
		return nil, failed("values", err)
	}
	if wants := ch.Metadata.KubeVersion; wants != "" && !chartutil.IsCompatibleRange(wants, version.String()) {
		return nil, failed("kubernetes", fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wants, version.Version))
	}
	files, err := engine.Engine{}.Render(ch, all)
	if err != nil {
		return nil, failed("template", err)
	}
	return sorted(ch, files)
}

func installable(ch *chart.Chart) error {
	if kind := ch.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("%s charts are not installable", kind)
	}
	have := map[string]bool{}
	for _, dependency := range ch.Dependencies() {
		have[dependency.Name()] = true
	}
	var missing []string
	for _, wanted := range ch.Metadata.Dependencies {
		if !have[wanted.Name] {
			missing = append(missing, wanted.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("found in Chart.yaml, but missing in charts/ directory: %s", strings.Join(missing, ", "))
	}
	return nil
}

// sorted takes what the templates made apart into notes, hooks and objects.
func sorted(ch *chart.Chart, files map[string]string) (*Answer, error) {
	answer := &Answer{Chart: ch.Name(), Version: ch.Metadata.Version, CRDs: []json.RawMessage{}, Objects: []json.RawMessage{}, Hooks: []Hook{}}
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			if name == path.Join(ch.Name(), "templates", "NOTES.txt") {
				answer.Notes = text
			}
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, failed("manifest", err)
	}
	var text, tail strings.Builder
	add := func(to *strings.Builder, source, content string) ([]json.RawMessage, error) {
		fmt.Fprintf(to, "---\n# Source: %s\n%s\n", source, content)
		found, err := objects(content)
		if err != nil {
			return nil, failed("manifest", fmt.Errorf("%s: %w", source, err))
		}
		return found, nil
	}
	for _, crd := range ch.CRDObjects() {
		found, err := add(&text, crd.Filename, string(crd.File.Data))
		if err != nil {
			return nil, err
		}
		answer.CRDs = append(answer.CRDs, found...)
	}
	for _, manifest := range manifests {
		found, err := add(&text, manifest.Name, manifest.Content)
		if err != nil {
			return nil, err
		}
		answer.Objects = append(answer.Objects, found...)
	}
	for _, hook := range hooks {
		found, err := add(&tail, hook.Path, hook.Manifest)
		if err != nil {
			return nil, err
		}
		events, policies := make([]string, 0, len(hook.Events)), make([]string, 0, len(hook.DeletePolicies))
		for _, event := range hook.Events {
			events = append(events, string(event))
		}
		for _, policy := range hook.DeletePolicies {
			policies = append(policies, string(policy))
		}
		for _, object := range found {
			answer.Hooks = append(answer.Hooks, Hook{Object: object, Events: events, Weight: hook.Weight, DeletePolicies: policies})
		}
	}
	answer.Text = strings.TrimSpace(text.String()) + "\n" + tail.String()
	return answer, nil
}

// objects reads documents as Helm and kubectl do, lists taken apart.
func objects(text string) ([]json.RawMessage, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var all []json.RawMessage
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		found, err := flat(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

func flat(raw json.RawMessage) ([]json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("this is no Kubernetes object: %w", err)
	}
	if head.APIVersion == "" || head.Kind == "" {
		return nil, errors.New("an object has no apiVersion or no kind")
	}
	if !strings.HasSuffix(head.Kind, "List") || head.Items == nil {
		return []json.RawMessage{raw}, nil
	}
	var all []json.RawMessage
	for _, item := range head.Items {
		found, err := flat(item)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
