import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { fixture, probe, type Run, ready, type Served, workplaces } from "./cli.js";
import { send } from "./sending.js";

const tls = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
const anyPort = ["--port", "0", "--grpc-port", "0"];

// Every test starts processes, which takes time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();

const parley = (args: readonly string[], env?: Record<string, string>): Run => place.run(args, env);

const serve = (args: readonly string[] = []): Promise<Served> => ready(parley(["serve", probe, ...anyPort, ...args]));

describe("parley serve with options", () => {
  it("keeps tasks in another file, or in memory, as the option says", async () => {
    await serve(["--store", "other.db"]);
    expect(existsSync(join(place.path, "other.db"))).toBe(true);
    await serve(["--store", "memory"]);
    expect(existsSync(join(place.path, "parley.db"))).toBe(false);
  });

  it("speaks TLS", async () => {
    const { url } = await serve(["--tls-cert", tls("cert"), "--tls-key", tls("key"), "--store", "memory"]);
    expect(url).toMatch(/^https:/);
  });

  it("trusts proxies and allows origins as the options say", async () => {
    const trust = ["--trust-proxy", "loopback,10.0.0.0/8"];
    const server = await serve([...trust, "--cors", "https://a.example, https://b.example", "--store", "memory"]);
    const headers = { origin: "https://b.example", "x-forwarded-host": "example.org", "x-forwarded-proto": "https" };
    const response = await fetch(`${server.url}/.well-known/agent-card.json`, { headers });
    expect(response.headers.get("access-control-allow-origin")).toBe("https://b.example");
    expect(await response.text()).toContain('"https://example.org"');
  });

  it("says which credentials calls need, with commands that have a place for them", async () => {
    const { stdout } = await ready(parley(["serve", fixture("secured"), ...anyPort, "--store", "memory"]));
    expect(stdout()).toContain(
      "\n  Tasks  memory\n  Needs  credentials: bearer (read write) and key, or key\n\nTry it:\n",
    );
    const given = "-H 'authorization: Bearer TOKEN' -H 'X-Key: KEY'";
    expect(stdout()).toContain(`grpcurl -plaintext ${given} -d `);
    expect(stdout().split(`${given} -H 'content-type: application/json' \\\n`)).toHaveLength(3);
    expect((await serve(["--store", "memory"])).stdout()).toContain("\n  Tasks  memory\n\nTry it:\n");
  });

  it("logs as JSON on stderr, at the given level", async () => {
    const server = await serve(["--store", "memory"]);
    const lines = server.stderr().trim().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: 30, msg: "the server is ready" });
    const silent = await serve(["--store", "memory", "--log-level", "error"]);
    expect(silent.stderr()).toBe("");
  });

  it("warns of metrics that nothing reads", async () => {
    const warning = "nothing reads the metrics";
    const alone = ["--store", "memory", "--metrics"];
    expect((await serve(alone)).stderr()).toContain(warning);
    expect((await serve([...alone, "--telemetry", "on"])).stderr()).not.toContain(warning);
    expect((await serve([...alone, "--admin", "unix:admin.sock"])).stderr()).not.toContain(warning);
  });

  it("serves an agent by name, and several by tenant", async () => {
    const named = await ready(parley(["serve", fixture("named"), ...anyPort, "--store", "memory"]));
    expect(named.stdout()).toMatch(/^Named 1\.0\.0/);
    const several = await ready(parley(["serve", fixture("several"), ...anyPort, "--store", "memory"]));
    expect(several.stdout()).toContain(`curl ${several.url}/billing/message:send`);
    expect(several.stdout()).toContain(`'{"tenant":"billing","message":`);
    expect(several.stdout()).toContain(`"It'\\''s me"`);
    expect(several.stdout()).not.toContain("A2A-Version");
    const card = await fetch(`${several.url}/support/.well-known/agent-card.json`);
    expect(((await card.json()) as { name: string }).name).toBe("Support");
  });

  it("opens no file for a module that cannot be served", async () => {
    const store = ["--store", "none.db"];
    const refusedFor = async (args: string[]): Promise<string> => {
      const one = parley([...args, ...store], { PARLEY_LOG_LEVEL: "error" });
      expect({ args, code: await one.exited, stdout: one.stdout() }).toEqual({ args, code: 2, stdout: "" });
      expect(one.stderr().trimEnd().split("\n")).toHaveLength(1);
      return one.stderr();
    };
    for (const module of ["none", "broken", "invalid-card"]) await refusedFor(["serve", fixture(module), ...anyPort]);
    expect(await refusedFor(["serve", probe, "--port", "9", "--grpc-port", "9"])).toContain("are the same");
    expect(readdirSync(place.path).filter((name) => name.startsWith("none.db"))).toEqual([]);
  });
});

describe("the commands that parley serve prints", () => {
  const header = "-H 'A2A-Version: 1.0'";

  it("name the version where calls have to", async () => {
    const { stdout } = await serve(["--store", "memory", "--strict-version"]);
    expect(stdout().split(header)).toHaveLength(4);
    const noGrpc = await ready(
      parley(["serve", probe, "--port", "0", "--grpc-port", "off", "--store", "memory", "--strict-version"]),
    );
    expect(noGrpc.stdout().split(header)).toHaveLength(4);
  });

  it("name it over HTTP+JSON where the agent's paths are those of another version", async () => {
    const { url, stdout } = await ready(parley(["serve", fixture("tenant-v1"), ...anyPort, "--store", "memory"]));
    expect(stdout().split(header)).toHaveLength(3);
    expect(stdout()).toContain(`curl ${url}/v1/message:send ${header} `);
    const alone = ["--store", "memory", "--versions", "1.0"];
    expect((await ready(parley(["serve", fixture("tenant-v1"), ...anyPort, ...alone]))).stdout()).not.toContain(header);
  });
});

describe("parley serve --idempotent-message-ids", () => {
  it("creates one task for a repeated message", async () => {
    const { url } = await serve(["--store", "memory", "--idempotent-message-ids"]);
    const [first, second] = [await send(url, "echo hello"), await send(url, "echo hello")];
    expect(second.id).toBe(first.id);
  });
});
