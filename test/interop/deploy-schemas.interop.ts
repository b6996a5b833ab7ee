import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { cache, type Printed, persistently, run, succeed } from "./support/tool.js";

const deploy = join(root, "deploy");
const text = (path: string): string => readFileSync(join(deploy, path), "utf8");

const clusters = [
  "kubernetes/parley.yaml",
  "kubernetes/replicas.yaml",
  "compose/compose.yaml",
  "compose/replicas.yaml",
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-schemas-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the Go program in a folder of this directory. Returns its path. */
async function goProgram(name: string): Promise<string> {
  const cwd = join(root, "test/interop", name);
  mkdirSync(cache, { recursive: true });
  const path = join(cache, name);
  // Needs access to Go modules. Go caches the compiled packages.
  await persistently(() => succeed("go", ["build", "-mod=readonly", "-o", path, "."], { cwd, limitMs: 540_000 }));
  return path;
}

describe("the OpenTelemetry collector", () => {
  it("of the image's release accepts its configuration", { timeout: 600_000 }, async () => {
    const check = await goProgram("collector");
    const release = /opentelemetry-collector:([\d.]+)/.exec(text("compose/compose.yaml"))?.[1];
    const modules = readFileSync(join(root, "test/interop/collector/go.mod"), "utf8");
    expect(modules).toContain(`go.opentelemetry.io/collector/otelcol v${release}\n`);
    expect(await succeed(check, [join(deploy, "compose/collector.yaml")])).toBe("valid\n");
    const faulty = join(folder, "collector.yaml");
    writeFileSync(faulty, text("compose/collector.yaml").replace("exporters: [debug]", "exporters: [otlp]"));
    expect((await run(check, [faulty])).stderr).toContain('references exporter "otlp" which is not configured');
  });
});

describe("Compose", () => {
  it("sends traces to the address at which the collector listens", () => {
    const [, port] = /OTEL_EXPORTER_OTLP_ENDPOINT: http:\/\/collector:(\d+)$/m.exec(text("compose/compose.yaml")) ?? [];
    expect(text("compose/collector.yaml")).toMatch(new RegExp(`\\n {6}http:\\n +endpoint: 0\\.0\\.0\\.0:${port}\\n`));
  });
});

/** Checks an edited Compose or Kubernetes file. */
async function checked(file: string, edited: string): Promise<Printed> {
  mkdirSync(join(folder, dirname(file)), { recursive: true });
  writeFileSync(join(folder, file), edited);
  return run(join(cache, "deploy-files"), [join(deploy, "envoy/envoy.yaml"), join(folder, file)]);
}

/** Removes fields and their lower lines from YAML. */
const without = (yaml: string, ...keys: readonly string[]): string =>
  yaml.replace(new RegExp(`^( *)(${keys.join("|")}):.*\n(?:\\1 +.*\n)*`, "gm"), "");

describe("Kubernetes, Compose and Envoy", () => {
  beforeAll(() => goProgram("deploy-files"), 600_000);

  it("have every field of the files in their types, with valid values", async () => {
    const files = ["envoy/envoy.yaml", ...clusters].map((file) => join(deploy, file));
    const printed = await succeed(join(cache, "deploy-files"), files);
    expect(printed).toContain("17 objects of Kubernetes");
    expect(printed).toContain("2 clusters of Envoy");
  });

  it.each([
    ["kubernetes", "startupProbe"],
    ["kubernetes", "readinessProbe"],
    ["kubernetes", "livenessProbe"],
    ["kubernetes", "preStop"],
    ["kubernetes", "securityContext"],
    ["kubernetes", "runAsNonRoot"],
    ["kubernetes", "runAsUser"],
    ["kubernetes", "fsGroup"],
    ["kubernetes", "seccompProfile"],
    ["kubernetes", "allowPrivilegeEscalation"],
    ["kubernetes", "readOnlyRootFilesystem"],
    ["kubernetes", "capabilities"],
    ["kubernetes", "automountServiceAccountToken"],
    ["kubernetes", "terminationGracePeriodSeconds"],
    ["kubernetes", "limits"],
    ["kubernetes", "rollingUpdate"],
    ["kubernetes", "- from", "NetworkPolicy"],
    ["kubernetes", "minAvailable", "maxUnavailable", "PodDisruptionBudget"],
    ["compose", "read_only"],
    ["compose", "cap_drop"],
    ["compose", "security_opt"],
    ["compose", "tmpfs"],
    ["compose", "mem_limit"],
    ["compose", "stop_grace_period"],
    ["compose", "restart"],
    ["compose", "healthcheck"],
  ])("must not lack in %s: %s", async (kind, ...keys) => {
    const files = clusters.filter((file) => file.startsWith(kind) && without(text(file), ...keys) !== text(file));
    expect(files).not.toEqual([]);
    for (const file of files) {
      const { stderr } = await checked(file, without(text(file), ...keys));
      expect(stderr, file).toMatch(new RegExp(`lacks ${keys.at(-1)}`));
    }
  });

  it.each([...new Set([...text("compose/compose.yaml").matchAll(/^ {4}([a-z_]+):/gm)].map(([, key = ""]) => key))])(
    "must not misspell in Compose: %s",
    async (key) => {
      const file = "compose/compose.yaml";
      const edited = text(file).replace(new RegExp(`^ {4}${key}:`, "m"), `    ${key}x:`);
      expect((await checked(file, edited)).stderr).toMatch(new RegExp(`\\b${key}x'? (?:false schema|not allowed)`));
    },
  );

  const monitoring =
    "        - namespaceSelector:\n            matchLabels: { kubernetes.io/metadata.name: monitoring }\n";
  const [kubernetes, compose] = ["kubernetes/parley.yaml", "compose/compose.yaml"];

  it.each([
    [kubernetes, `- from:\n${monitoring}      ports`, "- ports", "lacks NetworkPolicy"],
    [kubernetes, "maxUnavailable: 0", "maxUnavailable: 1", "lacks rollingUpdate"],
    [kubernetes, "minReadySeconds", "minReadyTime", "unknown field"],
    [compose, "127.0.0.1:8081:8081", "8081:8081", "publishes port 8081 beyond this machine"],
    [compose, "alerts.yml:ro", "alerts.yml", "may write"],
    [compose, "tasks:/data, ", "", "lacks a place for /data"],
    [compose, "    read_only: true", "    user: root\n    read_only: true", "lacks the user of its image"],
    [compose, "prom/prometheus:v3.5.0", "prom/prometheus", "lacks a version of its image"],
    [compose, "    mem_limit", "    healthcheck: { disable: true }\n    mem_limit", "disables its health check"],
    [compose, "mem_limit: 1g", "mem_limit: much", "invalid"],
  ])("must not have in %s, instead of %s: %s", async (file, written, instead, message) => {
    expect(text(file)).toContain(written);
    expect((await checked(file, text(file).replace(written, instead))).stderr).toContain(message);
  });
});
