import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { root } from "../e2e/support/build.js";
import { type Compose, danglingNames } from "./support/compose.js";
import { danglingNames as danglingInCluster, type KubernetesObject } from "./support/kubernetes.js";

const deploy = join(root, "deploy");
const text = (path: string): string => readFileSync(join(deploy, path), "utf8");
const read = (path: string): Compose => parse(text(path), { merge: true }) as Compose;
const objectsOf = (path: string): KubernetesObject[] =>
  parseAllDocuments(text(path)).map((document) => document.toJS() as KubernetesObject);

describe.each(["compose/compose.yaml", "compose/replicas.yaml"])("%s", (file) => {
  const place = { path: join(deploy, file), root };

  it("names only services, networks, volumes, secrets and files that exist", () => {
    expect(danglingNames(place, read(file))).toEqual([]);
  });

  it("explains each file of a secret in its first lines", () => {
    const head = text(file).split("\nname:", 1)[0] ?? "";
    const files = Object.values(read(file).secrets ?? {}).map(({ file }) => file.replace("./", ""));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((name) => !new RegExp(`^# +${name} `, "m").test(head))).toEqual([]);
  });
});

describe("danglingNames()", () => {
  it("finds each kind of a name of nothing in a file of Compose", () => {
    const faulty: Compose = {
      services: {
        agent: {
          depends_on: { database: {} },
          networks: ["back"],
          secrets: ["token"],
          volumes: ["tasks:/data", "./missing.yaml:/etc/missing.yaml:ro"],
          build: { dockerfile: "$PWD/Missing" },
          environment: { PARLEY_SIGNALS: "nats://nats:4222", PARLEY_ADMIN_TOKENS: "/run/secrets/tokens" },
        },
      },
    };
    const names = ["database", "back", "token", "tasks", "/somewhere/missing.yaml", "/root/Missing", "nats", "tokens"];
    const place = { path: "/somewhere/compose.yaml", root: "/root" };
    expect(danglingNames(place, faulty)).toEqual(names.map((name) => `agent: ${name}`));
  });

  it("finds each kind of a name of nothing in a file of Kubernetes", () => {
    const faulty = parseAllDocuments(
      text("kubernetes/replicas.yaml")
        .replace("secretName: parley-admin", "secretName: parley-operators")
        .replace("name: admin, mountPath", "name: tokens, mountPath")
        .replace("nats://parley-nats", "nats://parley-signals")
        .replace("serviceName: parley-postgres", "serviceName: parley-database")
        .replace("targetPort: nats", "targetPort: clients"),
    ).map((document) => document.toJS() as KubernetesObject);
    expect(danglingInCluster(faulty, ["parley-admin", "parley-postgres"])).toEqual([
      "Deployment parley: tokens",
      "Deployment parley: parley-operators",
      "Deployment parley: parley-signals",
      "Service parley-nats: clients",
      "StatefulSet parley-postgres: parley-database",
    ]);
  });
});

describe.each(["kubernetes/parley.yaml", "kubernetes/replicas.yaml"])("%s", (file) => {
  it("names only services, ports, volumes and claims that exist, and secrets that its first lines create", () => {
    const created = [...text(file).matchAll(/^# +kubectl create secret generic (\S+)/gm)].map(([, name = ""]) => name);
    expect(created.length).toBeGreaterThan(0);
    expect(danglingInCluster(objectsOf(file), created)).toEqual([]);
  });
});

describe("the files of Grafana", () => {
  it("name one datasource, at Prometheus's service, and the folder where Compose mounts the dashboard", () => {
    const { services } = read("compose/compose.yaml");
    const { datasources } = parse(text("grafana/datasource.yaml")) as { datasources: { uid: string; url: string }[] };
    const uses = [...text("grafana/parley.json").matchAll(/"datasource": \{\s*"type": "\w+",\s*"uid": "([^"]+)"/g)];
    expect(uses.length).toBeGreaterThan(10);
    expect([...new Set(uses.map(([, uid]) => uid))]).toEqual(datasources.map(({ uid }) => uid));
    expect(Object.keys(services)).toEqual(expect.arrayContaining(datasources.map(({ url }) => new URL(url).hostname)));
    const { providers } = parse(text("grafana/provider.yaml")) as { providers: { options: { path: string } }[] };
    const mounts = services.grafana?.volumes ?? [];
    for (const { options } of providers) expect(mounts).toContainEqual(expect.stringContaining(`:${options.path}/`));
  });
});
