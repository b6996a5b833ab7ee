package main

import (
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The container of a Parley server.
const server = "parley"

// Reports what pods lack: security of each, and what replaces servers without failed calls.
func promised(objects []any) error {
	servers := 0
	for _, object := range objects {
		var pod core.PodTemplateSpec
		switch workload := object.(type) {
		case *apps.Deployment:
			pod = workload.Spec.Template
		case *apps.StatefulSet:
			pod = workload.Spec.Template
		default:
			continue
		}
		for _, container := range pod.Spec.Containers {
			isServer := container.Name == server
			if isServer {
				servers++
			}
			of, own := pod.Spec.SecurityContext, container.SecurityContext
			for _, each := range []struct {
				what string
				has  bool
			}{
				{"runAsNonRoot", of != nil && isTrue(of.RunAsNonRoot)},
				// PostgreSQL writes beside its volume.
				{"readOnlyRootFilesystem", container.Name == "postgres" || own != nil && isTrue(own.ReadOnlyRootFilesystem)},
				{"readinessProbe", container.ReadinessProbe != nil},
				{"startupProbe", !isServer || container.StartupProbe != nil},
				{"livenessProbe", !isServer || container.LivenessProbe != nil},
				{"preStop", !isServer || container.Lifecycle != nil && container.Lifecycle.PreStop != nil},
				{"PodDisruptionBudget", !isServer || hasBudget(pod.Labels, objects)},
			} {
				if !each.has {
					return fmt.Errorf("container %s lacks %s", container.Name, each.what)
				}
			}
		}
	}
	if servers == 0 {
		return fmt.Errorf("no container is named %s", server)
	}
	return nil
}

func isTrue(value *bool) bool { return value != nil && *value }

// True if evictions of pods with these labels are limited.
func hasBudget(pod map[string]string, objects []any) bool {
	for _, object := range objects {
		budget, is := object.(*policy.PodDisruptionBudget)
		if !is || budget.Spec.MinAvailable == nil && budget.Spec.MaxUnavailable == nil {
			continue
		}
		selector, err := meta.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod)) {
			return true
		}
	}
	return false
}

// Images that write to their root file system.
var writing = map[string]bool{"grafana": true, "nginx": true, "postgres": true}

// Reports what services of Compose lack. The health check of agents is in their image.
func compose(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Services map[string]struct {
			ReadOnly    bool `json:"read_only"`
			HealthCheck *struct {
				Test    []string
				Disable bool
			}
			DependsOn any `json:"depends_on"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, service := range file.Services {
		if !service.ReadOnly && !writing[name] {
			return fmt.Errorf("%s: service %s lacks read_only", path, name)
		}
		if service.HealthCheck != nil && service.HealthCheck.Disable {
			return fmt.Errorf("%s: service %s disables its health check", path, name)
		}
		awaited, _ := service.DependsOn.(map[string]any)
		for other, how := range awaited {
			condition, _ := how.(map[string]any)
			check := file.Services[other].HealthCheck
			if condition["condition"] == "service_healthy" && (check == nil || len(check.Test) == 0) {
				return fmt.Errorf("%s: service %s lacks healthcheck, and %s waits for it", path, other, name)
			}
		}
	}
	return nil
}
