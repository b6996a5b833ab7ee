import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { main } from "../cli/cli.js";
import { root } from "../e2e/support/build.js";
import { type Child, Children } from "./support/children.js";
import { freePorts, program } from "./support/site.js";
import { succeed } from "./support/tool.js";

/** Settings of the files in deploy/. A test fails without each of them. */

const probe = join(root, "dist/examples/probe/agent.js");
const patient = { timeout: 30_000 };
const text = (path: string): string => readFileSync(join(root, "deploy", path), "utf8");
const unit = text("systemd/parley@.service");

let folder: string;
const children = new Children();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-settings-"));
});

afterAll(async () => {
  await children.end();
  rmSync(folder, { recursive: true, force: true });
});

type Variables = Readonly<Record<string, string>>;

/** Variables matched by a pattern, by its first two groups. */
function variables(file: string, pattern: RegExp): Variables {
  const found = [...text(file).matchAll(pattern)].map(([, name = "", value = ""]) => [name, value] as const);
  expect(found.length).toBeGreaterThan(4);
  return Object.fromEntries(found);
}

interface Environment {
  readonly servers: 1 | 2;
  readonly variables: () => Variables;
  /** The address in cards for a client behind a local proxy that forwards `proxy.example`. */
  readonly address: string;
}

const image = (): Variables => variables("Containerfile", /^(?:ENV| +) ?(NODE_ENV|PARLEY_\w+)=(\S+)/gm);

const environments: Readonly<Record<string, Environment>> = {
  "systemd/parley@.service": {
    servers: 2,
    variables: () => variables("systemd/parley@.service", /^Environment=(\w+)=(.*)$/gm),
    address: "http://proxy.example",
  },
  "kubernetes/parley.yaml": {
    servers: 2,
    variables: () => ({
      ...image(),
      ...variables("kubernetes/parley.yaml", /\{ name: (PARLEY_\w+), value: "?([^"}]*?)"? \}/g),
    }),
    address: "https://agents.example.com",
  },
  "compose/compose.yaml": {
    servers: 1,
    variables: () => ({
      ...image(),
      ...variables("compose/compose.yaml", /^ {6}(PARLEY_\w+): (?:\$\{\w+:-)?"?([^"}\n]+)/gm),
    }),
    address: "http://localhost:8080",
  },
};

const TOKEN = "0123456789abcdef".repeat(4);

/** A server with the environment of a file, except for paths and ports. */
interface Served extends Child {
  readonly url: string;
  readonly admin: string;
}

/** Starts the servers of a file with a shared folder. Replaces the file's paths and ports by local ones. */
async function serve({ servers, variables }: Environment): Promise<Served[]> {
  const { http, grpc, front } = await freePorts();
  const place = mkdtempSync(join(folder, "served-"));
  writeFileSync(join(place, "admin-tokens"), `ops write ${TOKEN}\n`, { mode: 0o600 });
  const started = [0, 1].slice(0, servers).map((at) => {
    const admin = `127.0.0.1:${[front.http1, front.http2][at]}`;
    const places: Variables = {
      PARLEY_STORE: join(place, "tasks.db"),
      PARLEY_ADMIN: admin,
      PARLEY_ADMIN_TOKENS: join(place, "admin-tokens"),
      PARLEY_ADMIN_BACKUPS: place,
      PARLEY_HOST: "127.0.0.1",
    };
    const given = Object.entries(variables()).map(([name, value]) => [name, places[name] ?? value] as const);
    const ports = { PARLEY_PORT: String(http[at]), PARLEY_GRPC_PORT: String(grpc[at]) };
    const environment = { ...Object.fromEntries(given), ...ports };
    const child = children.start(place, [process.execPath, main, "serve", probe], environment);
    return { ...child, url: `http://127.0.0.1:${http[at]}`, admin: `http://${admin}` };
  });
  for (const { url, said } of started) {
    const isReady = async () => expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await vi.waitFor(isReady, patient).catch((cause) => {
      throw new Error(said(), { cause });
    });
  }
  return started;
}

async function sentTask(url: string): Promise<string> {
  const message = { messageId: "same", role: "ROLE_USER", parts: [{ text: "echo hello" }] };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
  return ((await answer.json()) as { task: { id: string } }).task.id;
}

const operator = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

describe.each(Object.entries(environments))("the environment of deploy/%s", (_, environment) => {
  let served: Served[];
  beforeAll(async () => {
    served = await serve(environment);
  }, 60_000);

  it("answers the probes of Kubernetes", async () => {
    const probes = [...text("kubernetes/parley.yaml").matchAll(/httpGet: \{ path: ([^,]+), port: http \}/g)];
    expect(probes).toHaveLength(3);
    for (const [, path = ""] of probes) expect((await fetch(`${served[0]?.url}${path}`)).status).toBe(200);
  });

  it("creates one task for a message that is sent twice, to any server", async () => {
    const tasks = await Promise.all([...served, ...served].map(({ url }) => sentTask(url)));
    expect(new Set(tasks).size).toBe(1);
  });

  it("lets operators read metrics and make backups, and nobody else", async () => {
    for (const [at, { admin }] of served.entries()) {
      expect((await fetch(`${admin}/metrics`)).status).toBe(401);
      expect(await (await fetch(`${admin}/metrics`, { headers: operator })).text()).toContain("parley_calls_total{");
      const body = JSON.stringify({ name: `backup-${at}.db` });
      const made = await fetch(`${admin}/v1/server:backup`, { method: "POST", headers: operator, body });
      expect([made.status, await made.json()]).toMatchObject([200, { path: expect.stringContaining(`-${at}.db`) }]);
    }
  });

  it("has the address of clients in its cards", async () => {
    const headers = { "x-forwarded-host": "proxy.example" };
    for (const { url } of served) {
      const card = (await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()) as {
        supportedInterfaces: { url: string; protocolBinding: string }[];
      };
      const { PARLEY_GRPC_PUBLIC_URL: grpc } = environment.variables();
      for (const { url, protocolBinding } of card.supportedInterfaces) {
        expect(url).toContain(protocolBinding !== "GRPC" ? environment.address : (grpc ?? ":"));
      }
    }
  });

  it("still answers for the drain delay when it ends", async () => {
    const { child, url } = served[0] as Served;
    const begin = performance.now();
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { interval: 20 }).toBe(503);
    expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(200);
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - begin).toBeGreaterThan(1_900);
  });
});

it("logs JSON in containers, and runs Node.js in production everywhere", () => {
  expect(image()).toMatchObject({ NODE_ENV: "production", PARLEY_LOG_FORMAT: "json" });
  expect(unit).toMatch(/^Environment=NODE_ENV=production$/m);
  expect(text("kubernetes/parley.yaml")).toContain('{ name: PARLEY_TRUST_PROXY, value: "uniquelocal" }');
});

/** Variables of servers on PostgreSQL, which test/interop/replicas.interop.ts runs without these files. */
const replicated = {
  PARLEY_SIGNALS: expect.stringMatching(/^nats:/),
  PARLEY_STORE: expect.stringMatching(/^postgres:/),
  PARLEY_TRUST_PROXY: "uniquelocal",
  PARLEY_PUBLIC_URL: expect.any(String),
  PARLEY_GRPC_PUBLIC_URL: expect.any(String),
};

it("names the store, signals and addresses of replicas, and where the password of the database is", () => {
  const { services } = parse(text("compose/replicas.yaml"), { merge: true }) as {
    services: Record<string, { environment: object }>;
  };
  for (const at of [1, 2, 3]) {
    expect(services[`agent-${at}`]?.environment).toEqual({ ...replicated, PGPASSFILE: "/run/secrets/pgpass" });
  }
  const [{ spec }] = parseAllDocuments(text("kubernetes/replicas.yaml")).map((one) => one.toJS()) as [
    { spec: { template: { spec: { containers: { env: { name: string; value?: string; valueFrom?: object }[] }[] } } } },
  ];
  const env = spec.template.spec.containers[0]?.env ?? [];
  expect(Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom]))).toEqual({
    ...replicated,
    PARLEY_ADMIN: "0.0.0.0:8081",
    PARLEY_ADMIN_TOKENS: "/etc/parley/admin-tokens",
    PARLEY_METRICS: "true",
    PGPASSWORD: { secretKeyRef: { name: "parley-postgres", key: "password" } },
  });
});

/**
 * Settings that systemd-analyze rates as unsafe. The server needs them, or DevicePolicy=closed allows harmless devices.
 */
const needed = [
  "RootDirectory=/RootImage=",
  "MemoryDenyWriteExecute=",
  "RestrictAddressFamilies=~AF_NETLINK",
  "RestrictAddressFamilies=~AF_UNIX",
  "RestrictAddressFamilies=~AF_(INET|INET6)",
  "PrivateNetwork=",
  "DeviceAllow=",
  "IPAddressDeny=",
  "NotifyAccess=",
];

/** Settings of the unit that systemd-analyze does not rate. */
const unrated = {
  Type: "notify",
  KillMode: "mixed",
  Restart: "always",
  RestartSec: "1s",
  TimeoutStartSec: "10min",
  TimeoutStopSec: "30s",
  LimitNOFILE: "65536",
  MemoryMax: "1G",
  Group: "parley",
  StateDirectory: "parley parley/backups",
  StateDirectoryMode: "0700",
  SystemCallErrorNumber: "EPERM",
  PrivateIPC: "yes",
  DevicePolicy: "closed",
  KeyringMode: "private",
  AmbientCapabilities: "",
  WorkingDirectory: "/opt/parley",
  Requires: "parley-http.socket parley-grpc.socket",
  Sockets: "parley-http.socket parley-grpc.socket",
  EnvironmentFile: "-/etc/parley/environment",
  ExecReload: "/bin/kill -HUP $MAINPID",
};

describe("the unit of systemd", () => {
  it("has each setting that systemd-analyze rates, except for those that the server needs", async () => {
    await program("systemd-analyze", "systemd", "--version");
    const path = join(folder, "parley@.service");
    copyFileSync(join(root, "deploy/systemd/parley@.service"), path);
    const rated = await succeed("systemd-analyze", ["security", "--offline=true", "--json=short", path]);
    const settings = JSON.parse(rated) as { name: string; set: boolean | null }[];
    expect(settings.length).toBeGreaterThan(60);
    expect(settings.filter(({ set }) => set !== true).map(({ name }) => name)).toEqual(needed);
    const [, overall] =
      /Overall exposure level for [^:]*: ([\d.]+)/.exec(
        await succeed("systemd-analyze", ["security", "--offline=true", path]),
      ) ?? [];
    expect(readFileSync(join(root, "docs/deploying.md"), "utf8")).toMatch(
      new RegExp(`rates\\s+the unit ${overall}\\.`),
    );
  });

  it.each(Object.entries(unrated))("has %s=%s", (name, value) => {
    expect([...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, set]) => set)).toEqual([value]);
  });

  it.each(["http", "grpc"])("has a socket for %s at the address that nginx forwards to first", (name) => {
    const [, forwarded] =
      new RegExp(`upstream parley_${name} \\{\\s+server (\\S+)`).exec(text("nginx/parley.conf")) ?? [];
    expect(forwarded).toMatch(/:\d+$/);
    const socket = text(`systemd/parley-${name}.socket`);
    expect(socket).toContain(`\nListenStream=${forwarded}\n`);
    expect(socket).toContain(`\nFileDescriptorName=${name}\n`);
  });

  it("keeps tasks and backups in folders that systemd creates, and gives each instance an address", () => {
    const set = environments["systemd/parley@.service"]?.variables();
    expect(set).toMatchObject({
      PARLEY_STORE: "/var/lib/parley/tasks.db",
      PARLEY_ADMIN_BACKUPS: "/var/lib/parley/backups",
      PARLEY_ADMIN: "127.0.0.1:808%i",
    });
  });
});
