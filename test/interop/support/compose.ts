import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Parts of a Compose file that refer to other parts. */
export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks?: object;
  readonly volumes?: object;
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>;
}

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: readonly string[] | object;
  readonly networks?: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly build?: { readonly dockerfile: string };
}

/** Returns the names in a Compose file that refer to nothing. @param root folder in which the command is run */
export function danglingNames({ path, root }: { path: string; root: string }, compose: Compose): string[] {
  const { networks = {}, volumes = {}, secrets = {} } = compose;
  return Object.entries(compose.services).flatMap(([name, service]) => {
    const mounts = (service.volumes ?? []).map((mount) => mount.split(":", 1)[0] ?? "");
    const files = mounts.filter((source) => /^[./]/.test(source)).map((source) => resolve(dirname(path), source));
    const built = service.build === undefined ? [] : [service.build.dockerfile.replace(/\$\{?PWD\}?/, root)];
    const dependencies = service.depends_on ?? [];
    return [
      ...missing(Array.isArray(dependencies) ? dependencies : Object.keys(dependencies), compose.services),
      ...missing(service.networks ?? [], networks),
      ...missing(service.secrets ?? [], secrets),
      ...missing(
        mounts.filter((source) => !/^[./]/.test(source)),
        volumes,
      ),
      ...[...files, ...built].filter((file) => !existsSync(file)),
      ...unknownHosts(name, compose),
      ...unmountedSecrets(service),
    ].map((what) => `${name}: ${what}`);
  });
}

function missing(names: readonly string[], of: object): string[] {
  return names.filter((name) => !Object.hasOwn(of, name));
}

/** Hosts in a service's addresses that are not services in one of its networks. */
function unknownHosts(name: string, { services }: Compose): string[] {
  const { environment = {}, networks = ["default"] } = services[name] as Service;
  const urls = Object.values(environment).flatMap((value) => /^\w+:\/\/(?:[^@/]*@)?([\w.-]+)/.exec(value)?.[1] ?? []);
  return urls.filter((host) => {
    const other = services[host];
    return other === undefined || !(other.networks ?? ["default"]).some((network) => networks.includes(network));
  });
}

/** Files below /run/secrets that a service reads but that are not mounted. */
function unmountedSecrets({ environment = {}, secrets = [] }: Service): string[] {
  const read = Object.values(environment).flatMap((value) => /^\/run\/secrets\/(.+)$/.exec(value)?.[1] ?? []);
  return read.filter((secret) => !secrets.includes(secret));
}
