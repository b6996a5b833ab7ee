import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { openWorld, tokens } from "../admin/world.js";
import { ask, logIn, own, sessionOf, tokenIn } from "../console/world.js";
import { bundle, bundlesVariable } from "../support/writer-thread.js";
import { type Run, watch, workplaces } from "./cli.js";

/** `parley console` as a process, compiled for the tests, with a web app of the tests. */

vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();
const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

function start(args: readonly string[], env: Record<string, string> = {}): Run {
  const files = { PARLEY_TEST_CONSOLE: at("test/fixtures/console"), XDG_CONFIG_HOME: place.path };
  const main = fileURLToPath(bundle("tree/src/cli/main.js"));
  return place.keep(
    watch(
      spawn(process.execPath, ["--import", at("test/fixtures/console/preload.mjs"), main, "console", ...args], {
        cwd: at(""),
        env: { PATH: process.env.PATH ?? "", [bundlesVariable]: bundle("").href, ...files, ...env },
      }),
    ),
  );
}

/** Waits for a link in the output. */
async function linkIn(text: () => string): Promise<{ readonly base: string; readonly token: string }> {
  const [link = ""] = await vi.waitUntil(() => /http:\/\/127\.0\.0\.1:\d+\/console\/#token=[\w-]+(?=\n)/.exec(text()), {
    timeout: 50_000,
  });
  return { base: link.replace(/\/#.*/, ""), token: tokenIn(link) };
}

const recordingHead = '{"format":"parley-recording","version":1}';
const answer = { state: "COMPLETED", message: [], artifacts: [], error: null };

describe("parley console", () => {
  it("opens the task of an agent, with the address book, until Ctrl-C", async () => {
    mkdirSync(join(place.path, "a2a-cli"));
    writeFileSync(
      join(place.path, "a2a-cli", "agents.txt"),
      "# mine\nweather https://weather.example.com/a2a\nnear localhost:9999\nfile /tmp/card.json\n",
    );
    const run = start(["localhost:9999", "--task", "task-1"]);
    const { base, token } = await linkIn(run.stdout);
    expect((await ask(base.replace(/console$/, ""))).headers.location).toBe("console/");
    expect((await ask(`${base}/`)).text).toContain('<base href="/console/">');
    const session = await sessionOf(base, { token });
    expect(JSON.parse((await ask(`${base}/api/session`, { headers: session })).text)).toMatchObject({
      operator: { name: "console", role: "write" },
      admin: false,
      agents: [
        { name: "weather", url: "https://weather.example.com/a2a", own: false },
        { name: "near", url: "http://localhost:9999", own: false },
      ],
      start: { agent: "http://localhost:9999", task: "task-1" },
    });
    const admin = `${base}/api/admin/parley.admin.v1.AdminService/GetServer`;
    expect((await ask(admin, { method: "POST", headers: session })).status).toBe(404);
    // The link works once. The server then prints the next one.
    expect((await logIn(base, { token })).status).toBe(401);
    const next = await linkIn(run.stderr);
    expect((await logIn(base, { token: next.token })).status).toBe(204);
    expect((await ask(`${base}/`, { headers: { host: "attacker.example" } })).status).toBe(421);
    run.child.kill("SIGINT");
    expect(await run.exited).toBe(0);
    expect(run.stderr()).not.toContain("rror");
  });

  it("opens a recording, which its own session alone can read", async () => {
    const text = `${recordingHead}\n${JSON.stringify({ begins: true, message: { parts: [{ text: "hi" }] }, answer })}\n`;
    const file = join(place.path, "talk.jsonl");
    writeFileSync(file, text);
    const run = start(["localhost:9999", "--recording", file]);
    const { base, token } = await linkIn(run.stdout);
    expect(run.stdout()).not.toContain("talk");
    expect((await ask(`${base}/api/recording`, { headers: own })).status).toBe(401);
    const session = await sessionOf(base, { token });
    const described = JSON.parse((await ask(`${base}/api/session`, { headers: session })).text);
    expect(described.start).toEqual({ agent: "http://localhost:9999", recording: "talk.jsonl" });
    const answered = await ask(`${base}/api/recording`, { headers: session });
    expect([answered.status, answered.text]).toEqual([200, text]);
    expect(answered.headers["cache-control"]).toBe("no-store");
    expect(
      (await ask(`${base}/api/recording`, { headers: { ...session, "sec-fetch-site": "cross-site" } })).status,
    ).toBe(403);
  });

  it.each([
    ["is missing", undefined, "talk.jsonl"],
    ["is another file", "{}\n", "talk.jsonl is not a recording"],
    ["has a broken line", `${recordingHead}\n{\n`, "talk.jsonl, line 2: is not a JSON object"],
  ])("refuses a recording that %s, in one line", async (_, text, fault) => {
    const file = join(place.path, "talk.jsonl");
    if (text !== undefined) writeFileSync(file, text);
    const run = start(["--recording", file]);
    expect(await run.exited).toBe(2);
    expect(run.stderr()).toMatch(/^parley: --recording: [^\n]+\n$/);
    expect(run.stderr()).toContain(fault);
  });

  it.each(["port", "socket"])("calls the operator's service of a server at a %s, with its token", async (kind) => {
    const listen = kind === "port" ? "127.0.0.1:0" : `unix:${join(place.path, "admin.sock")}`;
    const world = await openWorld({ listen });
    try {
      const token = join(place.path, "token");
      writeFileSync(token, tokens.read);
      const run = start(["--admin", world.server.adminUrl ?? "", "--admin-token-file", token]);
      const link = await linkIn(run.stdout);
      const session = await sessionOf(link.base, { token: link.token });
      const described = JSON.parse((await ask(`${link.base}/api/session`, { headers: session })).text);
      const operator = { name: "rita", role: "read" };
      expect(described).toMatchObject({ operator, admin: true, agents: [] });
      const call = (method: string, headers: Record<string, string> = session) =>
        ask(`${link.base}/api/admin/parley.admin.v1.AdminService/${method}`, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json", authorization: "Bearer of-the-browser" },
          body: "{}",
        });
      expect(JSON.parse((await call("GetServer")).text)).toMatchObject({ readiness: "ready" });
      expect(JSON.parse((await call("Drain")).text)).toMatchObject({ code: "permission_denied" });
      expect((await call("GetServer", own)).status).toBe(401);
      await world.server.close();
      const { status, text } = await call("GetServer");
      expect([status, JSON.parse(text)]).toMatchObject([503, { code: "unavailable" }]);
      // The session continues without the operated server, which decides the role.
      expect(JSON.parse((await ask(`${link.base}/api/session`, { headers: session })).text).operator.name).toBe(
        "console",
      );
      expect(run.stdout() + run.stderr()).not.toContain(tokens.read);
    } finally {
      await world.server.close();
    }
  });

  it.each([
    [["--task", "1"], "--task needs the agent of the task"],
    [["localhost", "--task", "1", "--recording", "talk.jsonl"], "--task and --recording open different pages"],
    [["./card.json"], "./card.json is not an agent to open"],
    [["ftp://agents.example.com"], "ftp://agents.example.com is not an agent to open"],
    [["https://me:secret@agents.example.com"], "https://…@agents.example.com is not an agent to open"],
    [["--port", "65536"], "--port 65536 is not a port"],
    [["--admin", "nowhere"], "--admin is not an address"],
  ])("refuses %j in one line", async (args, fault) => {
    const run = start(args);
    expect(await run.exited).toBe(2);
    expect(run.stderr()).toMatch(/^parley: [^\n]+\n$/);
    expect(run.stderr()).toContain(fault);
  });

  it("names the command that builds the web app, if it is missing", async () => {
    const run = start([], { PARLEY_TEST_CONSOLE: place.path });
    expect(await run.exited).toBe(2);
    expect(run.stderr()).toBe("parley: the console has not been built: npm run build:console\n");
  });
});
