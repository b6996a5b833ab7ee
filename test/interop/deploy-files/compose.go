package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// Images that write to their root file system, and images that start as root.
var writing = []string{"grafana", "nginx", "postgres"}
var rooted = []string{"nginx", "postgres"}

// Loads a file by the schema of the Compose specification. Reports missing settings of its services. The health check
// of agents is in their image.
func compose(path string) error {
	environment := types.Mapping{"APPLICATION": "/application", "PWD": "/repository"}
	details := types.ConfigDetails{
		WorkingDir:  filepath.Dir(path),
		ConfigFiles: []types.ConfigFile{{Filename: path}},
		Environment: environment,
	}
	project, err := loader.LoadWithContext(context.Background(), details)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	agents := 0
	for _, service := range project.Services {
		if service.Build != nil {
			agents++
		}
		if err := lacking(service, project.Services); err != nil {
			return fmt.Errorf("%s: service %s %w", path, service.Name, err)
		}
	}
	if agents == 0 {
		return fmt.Errorf("%s: no service is built", path)
	}
	return nil
}

func lacking(service types.ServiceConfig, others types.Services) error {
	isAgent := service.Build != nil
	for _, each := range []struct {
		what string
		has  bool
	}{
		{"read_only", service.ReadOnly || slices.Contains(writing, service.Name)},
		{"cap_drop", slices.Equal(service.CapDrop, []string{"ALL"}) || slices.Contains(rooted, service.Name)},
		{"restart", service.Restart == types.RestartPolicyUnlessStopped},
		{"a version of its image", isAgent || strings.ContainsAny(service.Image, "0123456789")},
		{"security_opt", !isAgent || slices.Contains(service.SecurityOpt, "no-new-privileges:true")},
		{"tmpfs", !isAgent || slices.Contains(service.Tmpfs, "/tmp")},
		{"a place for /data", !isAgent || slices.Contains(service.Tmpfs, "/data") || mounts(service, "/data")},
		{"mem_limit", !isAgent || service.MemLimit > 0},
		// The sum of the drain delay, the grace period and the store's grace period.
		{"stop_grace_period", !isAgent || service.StopGracePeriod != nil &&
			time.Duration(*service.StopGracePeriod) > (2+10+5)*time.Second},
		// The user is that of the image.
		{"the user of its image", service.User == "" && !service.Privileged},
	} {
		if !each.has {
			return fmt.Errorf("lacks %s", each.what)
		}
	}
	if service.HealthCheck != nil && service.HealthCheck.Disable {
		return fmt.Errorf("disables its health check")
	}
	for _, port := range service.Ports {
		if port.HostIP != "127.0.0.1" {
			return fmt.Errorf("publishes port %d beyond this machine", port.Target)
		}
	}
	for _, volume := range service.Volumes {
		if volume.Type == types.VolumeTypeBind && !volume.ReadOnly {
			return fmt.Errorf("may write %s", volume.Source)
		}
	}
	for other, dependency := range service.DependsOn {
		check := others[other].HealthCheck
		if dependency.Condition == types.ServiceConditionHealthy && (check == nil || len(check.Test) == 0) {
			return fmt.Errorf("waits for %s, which lacks healthcheck", other)
		}
	}
	return nil
}

// True if a volume that outlives the container is mounted at the path.
func mounts(service types.ServiceConfig, place string) bool {
	return slices.ContainsFunc(service.Volumes, func(volume types.ServiceVolumeConfig) bool {
		return volume.Type == types.VolumeTypeVolume && volume.Target == place
	})
}
