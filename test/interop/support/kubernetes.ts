/** Parts of a Kubernetes object that refer to other objects. */
export interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly serviceName?: string;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: Pod;
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

interface Pod {
  readonly containers: readonly {
    readonly env?: readonly {
      readonly value?: string;
      readonly valueFrom?: { readonly secretKeyRef: { readonly name: string } };
    }[];
    readonly ports: readonly { readonly name: string }[];
    readonly volumeMounts?: readonly { readonly name: string }[];
  }[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string };
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}

/** Returns the names in a Kubernetes file that refer to nothing. @param secrets names that the operator creates */
export function danglingNames(objects: readonly KubernetesObject[], secrets: readonly string[]): string[] {
  const named = (kind: string): string[] =>
    objects.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
  const [services, claims] = [named("Service"), named("PersistentVolumeClaim")];
  return objects.flatMap(({ kind, metadata, spec }) => {
    const dangling =
      kind === "Service" ? portsWithoutPod(spec, objects) : danglingOfPods(spec, { services, claims, secrets });
    return dangling.map((what) => `${kind} ${metadata.name}: ${what}`);
  });
}

/** Ports of a service that none of its pods has. */
function portsWithoutPod(
  { selector = {}, ports = [] }: KubernetesObject["spec"],
  objects: readonly KubernetesObject[],
): string[] {
  const pods = objects.flatMap(({ spec }) => spec.template ?? []);
  const matches = ({ metadata: { labels } }: (typeof pods)[number]): boolean =>
    Object.entries(selector).every(([label, value]) => labels[label] === value);
  const there = pods.filter(matches).flatMap(({ spec }) => spec.containers.flatMap((container) => container.ports));
  return ports.map(({ targetPort }) => targetPort).filter((port) => !there.some(({ name }) => name === port));
}

interface Names {
  readonly services: readonly string[];
  readonly claims: readonly string[];
  readonly secrets: readonly string[];
}

function danglingOfPods(spec: KubernetesObject["spec"], { services, claims, secrets }: Names): string[] {
  const { template, volumeClaimTemplates = [], serviceName } = spec;
  if (template === undefined) return [];
  const { containers, volumes = [] } = template.spec;
  const env = containers.flatMap((container) => container.env ?? []);
  const mounted = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
  const sources = [...volumes.map(({ name }) => name), ...volumeClaimTemplates.map(({ metadata }) => metadata.name)];
  const read = [
    ...volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ...env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []),
  ];
  // Addresses of services in the same namespace have no dot.
  const hosts = env.flatMap(({ value = "" }) => /^\w+:\/\/(?:[^@/]*@)?([\w-]+)(?=[:/]|$)/.exec(value)?.[1] ?? []);
  const claimed = volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
  return [
    ...mounted.filter((name) => !sources.includes(name)),
    ...read.filter((name) => !secrets.includes(name)),
    ...hosts.filter((name) => !services.includes(name)),
    ...claimed.filter((name) => !claims.includes(name)),
    ...(serviceName === undefined || services.includes(serviceName) ? [] : [serviceName]),
  ];
}
