package main

import (
	"fmt"
	"slices"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Names of the container and the operators' port of a Parley server.
const server = "parley"
const operators = "admin"

// Maximum time in seconds for a server to stop: preStop, the drain delay, the grace period and the store's own.
const stopSeconds = 5 + 2 + 10 + 5

// Reports missing settings of pods: those for security, and those for replacements without failed calls.
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
			if of == nil || own == nil {
				return fmt.Errorf("container %s lacks securityContext", container.Name)
			}
			for _, each := range []struct {
				what string
				has  bool
			}{
				{"runAsNonRoot", isTrue(of.RunAsNonRoot)},
				{"runAsUser", of.RunAsUser != nil && *of.RunAsUser > 0},
				{"fsGroup", len(container.VolumeMounts) == 0 || of.FSGroup != nil && of.RunAsGroup != nil},
				{"seccompProfile", of.SeccompProfile != nil && of.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault},
				{"allowPrivilegeEscalation", isFalse(own.AllowPrivilegeEscalation)},
				{"capabilities", own.Capabilities != nil && slices.Equal(own.Capabilities.Drop, []core.Capability{"ALL"})},
				{"automountServiceAccountToken", isFalse(pod.Spec.AutomountServiceAccountToken)},
				{"limits", container.Resources.Limits.Memory().Sign() > 0},
				// PostgreSQL writes beside its volume.
				{"readOnlyRootFilesystem", container.Name == "postgres" || isTrue(own.ReadOnlyRootFilesystem)},
				{"readinessProbe", container.ReadinessProbe != nil},
				{"startupProbe", !isServer || container.StartupProbe != nil},
				{"livenessProbe", !isServer || container.LivenessProbe != nil},
				{"preStop", !isServer || container.Lifecycle != nil && container.Lifecycle.PreStop != nil},
				{"terminationGracePeriodSeconds", !isServer || pod.Spec.TerminationGracePeriodSeconds != nil &&
					*pod.Spec.TerminationGracePeriodSeconds > stopSeconds},
				{"rollingUpdate", !isServer || startsBeforeItStops(object)},
				{"PodDisruptionBudget", !isServer || hasBudget(pod.Labels, objects)},
				{"NetworkPolicy", !isServer || closesOperators(pod.Labels, objects)},
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

func isTrue(value *bool) bool  { return value != nil && *value }
func isFalse(value *bool) bool { return value != nil && !*value }

// True for a deployment that starts a new server before it stops an old one.
func startsBeforeItStops(object any) bool {
	deployment, is := object.(*apps.Deployment)
	if !is || deployment.Spec.Strategy.RollingUpdate == nil {
		return false
	}
	unavailable := deployment.Spec.Strategy.RollingUpdate.MaxUnavailable
	return unavailable != nil && unavailable.IntValue() == 0
}

// True if a policy lets only named peers reach the operators' port of pods with these labels.
func closesOperators(pod map[string]string, objects []any) bool {
	for _, object := range objects {
		network, is := object.(*networking.NetworkPolicy)
		if !is || !slices.Contains(network.Spec.PolicyTypes, networking.PolicyTypeIngress) {
			continue
		}
		selector, err := meta.LabelSelectorAsSelector(&network.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(pod)) {
			continue
		}
		named := false
		for _, rule := range network.Spec.Ingress {
			opens := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port networking.NetworkPolicyPort) bool {
				return port.Port == nil || port.Port.String() == operators
			})
			if opens && len(rule.From) == 0 {
				return false
			}
			named = named || opens
		}
		return named
	}
	return false
}

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
