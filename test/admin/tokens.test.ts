import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { credentialsCheck } from "../../src/admin/access.js";
import { tokensPoll } from "../../src/admin/tokens.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import { failedAttempts } from "../../src/auth/throttle.js";
import { createServer, type Logger } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** Tokens of operators, in a file and in code. */

let folder: string;
let file: string;
let world: World | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-tokens-"));
  file = join(folder, "tokens");
  setConstants(tokensPoll, { intervalMs: 0 });
});
afterEach(async () => {
  await world?.server.close();
  world = undefined;
  rmSync(folder, { recursive: true });
});

const write = (text: string, mode = 0o600): void => {
  writeFileSync(file, text);
  chmodSync(file, mode);
};

const open = async (logger?: Logger): Promise<World> => {
  world = await openWorld({ tokens: undefined, tokensFile: file } as never, logger && { logger });
  return world;
};

const statusOf = async (token: string, path = "/v1/server:setLogLevel"): Promise<number> => {
  const headers = { ...bearer(token), "content-type": "application/json" };
  // The server checks the token first. It then refuses the request because the level is missing.
  const answer = await fetch(`http://${world?.address}${path}`, { method: "POST", headers, body: "{}" });
  await answer.text();
  return answer.status;
};

const digest = (token: string): string => createHash("sha256").update(token).digest("hex");

describe("a tokens file", () => {
  it("has tokens and their digests, with comments and empty lines between", async () => {
    write(`# operators\n\nrita read ${tokens.read}\r\n  wendy\twrite  sha256:${digest(tokens.write)}\n`);
    await open();
    expect(await statusOf(tokens.read)).toBe(403);
    expect(await statusOf(tokens.write)).toBe(400);
    expect(await statusOf(digest(tokens.write))).toBe(401);
    expect(await statusOf(`sha256:${digest(tokens.write)}`)).toBe(401);
  });

  it("is read again when it has changed, and kept when it is invalid", async () => {
    const lines: { facts: object; message: string }[] = [];
    const note = (facts: object, message: string): void => void lines.push({ facts, message });
    write(`rita read ${tokens.read}\n`);
    await open({ debug: () => {}, info: note, warn: note, error: note });
    expect(await statusOf(tokens.write)).toBe(401);
    write(`rita read ${tokens.read}\nwendy write ${tokens.write}\n`);
    expect(await statusOf(tokens.write)).toBe(400);
    write("wendy write brief\n");
    // The server logs an invalid file once, although it reads the file three times.
    for (let look = 0; look < 3; look++) expect(await statusOf(tokens.write)).toBe(400);
    rmSync(file);
    expect(await statusOf(tokens.write)).toBe(400);
    write(`rita read ${tokens.read}\n`);
    expect(await statusOf(tokens.write)).toBe(401);
    expect(await statusOf(tokens.read)).toBe(403);
    const told = lines.filter(({ message }) => message.includes("tokens"));
    expect(told.map(({ message }) => message.replace(/^the operators' /, ""))).toEqual([
      "tokens were read again",
      "new tokens cannot be used; the previous tokens stay in use",
      "new tokens cannot be used; the previous tokens stay in use",
      "tokens were read again",
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/-471[1-4]-|brief/);
  });

  it("ends the streams of a token that is removed, and no others", async () => {
    setConstants(credentialsCheck, { everyMs: 20 });
    write(`rita read ${tokens.read}\nwendy write ${tokens.write}\n`);
    const { address } = await open();
    const ended: string[] = [];
    const stop = new AbortController();
    const follow = async (token: string): Promise<void> => {
      const options = { headers: bearer(token), signal: stop.signal };
      const { body } = await fetch(`http://${address}/v1/tasks:follow`, options);
      await body?.pipeTo(new WritableStream());
    };
    const noted = (token: string) =>
      follow(token)
        .catch(() => {})
        .then(() => ended.push(token));
    const streams = [noted(tokens.read), noted(tokens.write)];
    write(`wendy write ${tokens.write}\n`);
    await streams[0];
    expect(await statusOf(tokens.write)).toBe(400);
    expect(ended).toEqual([tokens.read]);
    stop.abort();
    await streams[1];
  });

  const long = "x".repeat(32);
  it.each([
    ["other users may read or change it", `a read ${long}\n`, 0o604],
    ["other users may read or change it", `a read ${long}\n`, 0o602],
    ["it has no token", "# none\n", 0o600],
    ["line 2 has a token that is shorter than 32", `a read ${long}\nb read ${long.slice(1)}\n`, 0o600],
    ["line 1 has a role that is neither", `a admin ${long}\n`, 0o600],
    ["line 1 has a sha256 that is not 64", "a read sha256:12\n", 0o600],
    ["line 1 has more than", `a read ${long} more\n`, 0o600],
    ["line 2 has the token of another line", `a read ${long}\nb write ${long}\n`, 0o600],
    ["line 2 has the token of another line", `a read sha256:${digest(long)}\nb write ${long}\n`, 0o600],
    [
      "line 2 has the token of another line",
      `a read sha256:${digest(long)}\nb write sha256:${digest(long).toUpperCase()}\n`,
      0o600,
    ],
    ["line 1 has no name", `a/b read ${long}\n`, 0o600],
  ])("is refused if %s", async (fault, text, mode) => {
    write(text, mode);
    const error = await open().then(
      () => new Error("started"),
      (error: Error) => error,
    );
    expect(error.message).toContain("admin.tokensFile");
    expect(error.message).toContain(fault);
    expect(error.message).not.toContain(long.slice(1));
  });

  it("is refused if it does not exist", async () => {
    await expect(open()).rejects.toThrow(/admin\.tokensFile .*ENOENT/);
  });
});

describe("an open stream", () => {
  /** Operators, each with a stream: of all tasks, or of one. */
  const all = [
    { name: "rita", role: "read", token: tokens.read, ofOne: false },
    { name: "ron", role: "read", token: tokens.caller, ofOne: true },
    { name: "wendy", role: "write", token: tokens.write, ofOne: false },
    { name: "will", role: "write", token: tokens.other, ofOne: true },
  ];

  async function waitingTask(url: string | undefined): Promise<string> {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "ask Which?" }] };
    const headers = { "x-key": tokens.caller, "a2a-version": "1.0", "content-type": "application/json" };
    const body = JSON.stringify({ message });
    const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body });
    return ((await answer.json()) as { task: { id: string } }).task.id;
  }

  it.each([
    ["", 400],
    [", also while guesses at its address have failed", 429],
  ])("ends when its token is withdrawn, and no other does%s", async (_when, status) => {
    setConstants(credentialsCheck, { everyMs: 20 });
    setConstants(failedAttempts, { intervalMs: 3_600_000 });
    const checks = new Map<string, number>();
    let valid = all;
    const check = async (token: string) => {
      checks.set(token, (checks.get(token) ?? 0) + 1);
      const found = valid.find((each) => each.token === token);
      return found && { owner: found.name, scopes: [found.role] };
    };
    const security = { schemes: { sso: httpBearerScheme({ check }) } };
    const limits = { maxFailedAttempts: 1, shutdownGraceMs: 50 };
    const roles = { read: "read", write: "write" };
    world = await openWorld({ tokens: undefined, security, roles } as never, { limits });
    const { address, server } = world;
    const task = `/v1/tasks/${await waitingTask(server.url)}:follow`;
    const ended: string[] = [];
    const stop = new AbortController();
    const follow = async (token: string, path: string): Promise<void> => {
      const { body } = await fetch(`http://${address}${path}`, { headers: bearer(token), signal: stop.signal });
      await body?.pipeTo(new WritableStream());
    };
    const streams = all.map(({ token, name, ofOne }) =>
      follow(token, ofOne ? task : "/v1/tasks:follow")
        .catch(() => {})
        .then(() => void ended.push(name)),
    );
    await vi.waitFor(() => expect(checks.size).toBe(all.length), { timeout: 10_000 });
    if (status === 429) expect(await statusOf(tokens.wrong)).toBe(401);
    // Time for several checks of each stream's token.
    const before = new Map(checks);
    await vi.waitFor(() => {
      for (const { token } of all) expect(checks.get(token)).toBeGreaterThan((before.get(token) ?? 0) + 3);
    }, 10_000);
    expect(ended).toEqual([]);
    valid = all.slice(2);
    await Promise.all(streams.slice(0, 2));
    expect(await statusOf(tokens.write)).toBe(status);
    expect(ended.sort()).toEqual(["rita", "ron"]);
    stop.abort();
    await Promise.all(streams);
  });
});

describe("wrong tokens", () => {
  it("slow their address down, with attempts that are not those of callers", async () => {
    const agent = { ...obedient("guessed") };
    const server = await createServer({
      agent,
      store: memoryStore(),
      port: 0,
      grpcPort: false,
      limits: { maxFailedAttempts: 2 },
      admin: { listen: "127.0.0.1:0", tokens: [{ name: "wendy", role: "write", token: tokens.write }] },
    });
    const get = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${server.adminUrl}/v1/executions?pageSize=-1`, { headers })).status;
    expect(await get(bearer(tokens.wrong))).toBe(401);
    expect(await get(bearer(tokens.wrong))).toBe(401);
    expect(await get(bearer(tokens.wrong))).toBe(429);
    // The address has to wait, so even a valid token is refused.
    expect(await get(bearer(tokens.write))).toBe(429);
    expect((await fetch(`${server.url}/.well-known/agent-card.json`)).status).toBe(200);
    await server.close();
  });
});
