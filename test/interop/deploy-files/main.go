// Checks files of deploy/. Kubernetes objects are checked by their Go types, Envoy's configuration by its messages and
// their rules, and Compose files by the schema of their specification. Pods and Compose services have to have the
// settings that promised.go and compose.go list.
// Usage: deploy-files ENVOY.yaml {kubernetes|compose}/FILE.yaml...
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	clusters, err := envoy(os.Args[1])
	exitOn(err)
	objects := 0
	for _, path := range os.Args[2:] {
		if filepath.Base(filepath.Dir(path)) == "compose" {
			exitOn(compose(path))
			continue
		}
		found, err := kubernetes(path)
		exitOn(err)
		objects += found
	}
	fmt.Printf("%d objects of Kubernetes, %d clusters of Envoy\n", objects, clusters)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func kubernetes(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	kinds := map[string]func() any{
		"v1 PersistentVolumeClaim":           func() any { return new(core.PersistentVolumeClaim) },
		"v1 Service":                         func() any { return new(core.Service) },
		"apps/v1 Deployment":                 func() any { return new(apps.Deployment) },
		"apps/v1 StatefulSet":                func() any { return new(apps.StatefulSet) },
		"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networking.NetworkPolicy) },
		"policy/v1 PodDisruptionBudget":      func() any { return new(policy.PodDisruptionBudget) },
	}
	var objects []any
	documents := bytes.Split(text, []byte("\n---\n"))
	for _, document := range documents {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return 0, err
		}
		make, known := kinds[kind.APIVersion+" "+kind.Kind]
		if !known {
			return 0, fmt.Errorf("%s: no kind %q %q", path, kind.APIVersion, kind.Kind)
		}
		object := make()
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, kind.Kind, err)
		}
		objects = append(objects, object)
	}
	if err := promised(objects); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return len(documents), nil
}

type validated interface{ ValidateAll() error }

func envoy(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return 0, err
	}
	config := new(bootstrap.Bootstrap)
	if err := protojson.Unmarshal(json, config); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return len(config.GetStaticResources().GetClusters()), validate(config)
}

// Applies the rules of a message and of the messages in its Any fields.
func validate(message proto.Message) error {
	if with, has := message.(validated); has {
		if err := with.ValidateAll(); err != nil {
			return err
		}
	}
	return each(message.ProtoReflect())
}

func each(message protoreflect.Message) (err error) {
	if packed, is := message.Interface().(*anypb.Any); is {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			return err
		}
		return validate(inner)
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, held protoreflect.Value) bool {
					err = each(held.Message())
					return err == nil
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for at := 0; at < value.List().Len() && err == nil; at++ {
				err = each(value.List().Get(at).Message())
			}
		default:
			err = each(value.Message())
		}
		return err == nil
	})
	return err
}
