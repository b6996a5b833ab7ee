import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { main } from "../cli/cli.js";
import { root } from "../e2e/support/build.js";
import { type Child, Children } from "./support/children.js";
import { deployed, freePorts, program } from "./support/site.js";
import { succeed } from "./support/tool.js";

/** Prometheus with the files of deploy/prometheus. It scrapes a server and answers the dashboard's queries. */

const probe = join(root, "dist/examples/probe/agent.js");
const patient = { timeout: 30_000, interval: 200 };
const text = (path: string): string => readFileSync(join(root, "deploy", path), "utf8");

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: { readonly query: string } }[];
  };
  readonly panels: readonly Panel[];
}

const dashboard = JSON.parse(text("grafana/parley.json")) as Dashboard;

const [operator, scraper] = ["ops".padEnd(40, "0"), "prometheus".padEnd(40, "0")];

let folder: string;
const children = new Children();
let webhook: Server;
let server: Child;
let url: string;
let target: string;
let prometheus: string;

beforeAll(async () => {
  await program("prometheus", "prometheus", "--version");
  folder = mkdtempSync(join(tmpdir(), "parley-prometheus-"));
  const { http, grpc, front } = await freePorts();
  // The webhook answers "gone", so that each notification is given up.
  webhook = createServer((_, response) => response.writeHead(410).end());
  await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
  [url, target, prometheus] = [
    `http://127.0.0.1:${http[0]}`,
    `127.0.0.1:${front.http1}`,
    `http://127.0.0.1:${front.http2}`,
  ];
  server = serve(http[0], grpc[0]);
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), patient);
  const configuration = scrape();
  const { command } = (parse(text("compose/compose.yaml")) as { services: { prometheus: { command: string[] } } })
    .services.prometheus;
  const flags = command.map((flag) => flag.replace("/etc/prometheus/prometheus.yml", configuration));
  const own = [`--storage.tsdb.path=${join(folder, "metrics")}`, `--web.listen-address=127.0.0.1:${front.http2}`];
  const { said } = children.start(folder, ["prometheus", ...flags, ...own]);
  await vi.waitFor(async () => {
    const ready = await fetch(`${prometheus}/-/ready`).catch((cause) => {
      throw new Error(said(), { cause });
    });
    expect(ready.status).toBe(200);
  }, patient);
}, 120_000);

afterAll(async () => {
  await children.end();
  webhook?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a server that accepts the tokens of deploy/compose/compose.yaml. */
function serve(http: number, grpc: number): Child {
  const tokens = join(folder, "admin-tokens");
  writeFileSync(tokens, `prometheus read ${scraper}\nops write ${operator}\n`, { mode: 0o600 });
  const { port } = webhook.address() as AddressInfo;
  const push = ["--push", "--push-allow-http", "--push-allow", "127.0.0.1", "--push-ports", String(port)];
  const ports = ["--port", String(http), "--grpc-port", String(grpc), "--store", join(folder, "tasks.db")];
  const admin = ["--admin", target, "--admin-tokens", tokens, "--metrics", "--max-parts", "1"];
  return children.start(folder, [process.execPath, main, "serve", probe, ...ports, ...push, ...admin]);
}

/** Writes the configuration with local addresses and with intervals of a second. @returns its path */
function scrape(): string {
  writeFileSync(join(folder, "prometheus-token"), scraper);
  const places = {
    "agent:8081": target,
    "/run/secrets/prometheus-token": join(folder, "prometheus-token"),
    "scrape_interval: 15s": "scrape_interval: 1s",
    "evaluation_interval: 15s": "evaluation_interval: 1s",
  };
  writeFileSync(join(folder, "prometheus.yml"), deployed("prometheus/prometheus.yml", places));
  writeFileSync(join(folder, "alerts.yml"), text("prometheus/alerts.yml"));
  return join(folder, "prometheus.yml");
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** Queries Prometheus. @throws if the answer is not a success */
async function ask<T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> {
  const answer = await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
  if (status !== "success") throw new Error(`${JSON.stringify(parameters)}: ${error}`);
  return data;
}

const query = async (expression: string): Promise<readonly Sample[]> =>
  (await ask<{ result: readonly Sample[] }>("query", { query: expression })).result;

/** Makes calls that succeed, fail, are refused by a limit, and notify the webhook. */
async function callEverything(): Promise<void> {
  const { port } = webhook.address() as AddressInfo;
  const taskPushNotificationConfig = { url: `http://127.0.0.1:${port}/` };
  const send = async (how: string, body: object): Promise<void> => {
    const headers = { "content-type": "application/json" };
    await (await fetch(`${url}/message:${how}`, { method: "POST", headers, body: JSON.stringify(body) })).text();
  };
  const say = (...texts: string[]): object => ({
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: texts.map((each) => ({ text: each })) },
  });
  await send("send", { ...say("echo hello"), configuration: { taskPushNotificationConfig } });
  await send("send", say("crash"));
  await send("send", say("two", "parts"));
  await send("stream", say("stream 2 8 0"));
}

describe("Prometheus with deploy/prometheus", () => {
  it("scrapes the server", async () => {
    const up = async () => (await query('up{job="parley"}')).map(({ metric, value }) => [metric.instance, value[1]]);
    await expect.poll(up, patient).toEqual([[target, "1"]]);
  });

  it("has loaded every alert, and evaluates it", async () => {
    const names = [...text("prometheus/alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const rules = async () =>
      (await ask<{ groups: { rules: { name: string; health: string }[] }[] }>("rules")).groups
        .flatMap((group) => group.rules)
        .map(({ name, health }) => `${name} ${health}`);
    expect(names.length).toBeGreaterThan(8);
    await expect.poll(rules, patient).toEqual(names.map((name) => `${name} ok`));
  });

  it("has scraped each metric that a rule or the dashboard names", { timeout: 60_000 }, async () => {
    const asked = `${text("prometheus/alerts.yml")}${text("grafana/parley.json")}`;
    const names = new Set([...asked.matchAll(/\b(parley_\w+)/g)].map(([, name = ""]) => name));
    expect(names.size).toBeGreaterThan(14);
    await expect
      .poll(async () => {
        await callEverything();
        const scraped = await ask<string[]>("label/__name__/values");
        return [...names].filter((name) => !scraped.includes(name));
      }, patient)
      .toEqual([]);
  });

  it("alerts of a notification that was given up", { timeout: 60_000 }, async () => {
    const alerts = async () => (await ask<{ alerts: { state: string; labels: object }[] }>("alerts")).alerts;
    await callEverything();
    await expect.poll(alerts, patient).toContainEqual(
      expect.objectContaining({
        state: "firing",
        labels: { alertname: "ParleyDeadLetters", severity: "ticket", job: "parley", instance: target },
      }),
    );
  });
});

describe("the dashboard of Grafana", () => {
  it("has panels of their own ids and places, and a schema of Grafana 9 or later", () => {
    const { panels, schemaVersion } = dashboard;
    expect(schemaVersion).toBeGreaterThanOrEqual(36);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
    for (const { targets } of panels) expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
  });

  it("has the variables that it uses, with values", async () => {
    const used = [...text("grafana/parley.json").matchAll(/\$(?!__all)\{?(\w+)/g)].map(([, name]) => name);
    const { list } = dashboard.templating;
    expect([...new Set(used)]).toEqual(list.map(({ name }) => name));
    for (const { query: asked } of list) {
      const [, metric = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(asked.query) ?? [];
      const values = () => ask<string[]>(`label/${label}/values`, { "match[]": metric });
      await expect.poll(values, patient).toEqual([target]);
    }
  });

  const targets = dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
  );

  it.each(targets)("shows: %s, %s", { timeout: 60_000 }, async (_, expression, legend) => {
    const found = async () => {
      await callEverything();
      return query(expression.replaceAll("$instance", target));
    };
    await expect.poll(async () => (await found()).length, patient).toBeGreaterThan(0);
    const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
    for (const { metric, value } of await found()) {
      expect(Object.keys(metric)).toEqual(expect.arrayContaining(labels));
      expect(Number(value[1])).not.toBeNaN();
    }
  });
});

describe("the alerts", () => {
  it("are valid, and fire each for its cause and not beside it", async () => {
    await succeed("promtool", ["check", "rules", join(root, "deploy/prometheus/alerts.yml")]);
    const cases = join(root, "test/interop/deploy-files/alerts.yml");
    await succeed("promtool", ["test", "rules", cases]);
    const named = (file: string, key: string): Set<string | undefined> =>
      new Set([...file.matchAll(new RegExp(`- ${key}: (\\w+)`, "g"))].map(([, name]) => name));
    expect(named(readFileSync(cases, "utf8"), "alertname")).toEqual(named(text("prometheus/alerts.yml"), "alert"));
  });

  it("are linked to what to do", () => {
    const page = readFileSync(join(root, "docs/operations.md"), "utf8");
    const alerts = [...text("prometheus/alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect(alerts.filter((name) => !page.includes(`| ${name} `))).toEqual([]);
  });
});

it("waits a minute before it alerts of a server that has gone", { timeout: 60_000 }, async () => {
  server.child.kill("SIGKILL");
  const alerts = async () =>
    (await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>("alerts")).alerts
      .filter(({ labels }) => labels.alertname === "ParleyDown")
      .map(({ state }) => state);
  await expect.poll(alerts, patient).toEqual(["pending"]);
});
