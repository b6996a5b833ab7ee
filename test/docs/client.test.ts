import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import agent from "../../examples/probe/agent.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import { publicKeysOf } from "../../src/card/index.js";
import { reasons } from "../../src/core/error.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { build } from "../e2e/support/build.js";
import { freePort } from "../support/free-port.js";
import { blocksOf, pageText, root } from "./pages.js";

// The folder is inside the package, so that programs import it by name.
const folder = join(root, ".cache", "docs", "client");
const [five, answers, printed, upload, save, resume, verified, credentials, notified] = blocksOf("docs/client.md").map(
  ({ text }) => text,
);
const [preferring, preferred] = blocksOf("docs/client-connections.md").map(({ text }) => text);

const opened: Server[] = [];
beforeAll(() => {
  build();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}, 120_000);
afterAll(async () => {
  for (const server of opened) await server.close({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function serve(more: object = {}): Promise<number> {
  const server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, ...more } as never);
  opened.push(server);
  return server.port;
}

/**
 * Runs a program with another port than 8080. Returns its output when it ends, or when `enough` has resolved and it is
 * killed.
 */
async function run(
  name: string,
  text: string | undefined,
  port: number,
  enough?: (said: () => string) => Promise<unknown>,
): Promise<string> {
  writeFileSync(join(folder, name), (text ?? "").replaceAll("8080", `${port}`));
  const child = spawn(process.execPath, [name], { cwd: folder });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  enough?.(() => said).then(() => child.kill("SIGKILL"));
  await new Promise((resolve) => child.on("close", resolve));
  return said;
}

describe("docs/client.md", { timeout: 60_000 }, () => {
  it("shows a client of five lines", async () => {
    expect(
      five
        ?.trim()
        .split("\n")
        .filter((line) => line !== "").length,
    ).toBeLessThanOrEqual(5);
    expect(await run("stream.js", five, await serve())).toBe("1 ...2 ...3 ...");
    expect(pageText("docs/client.md")).toContain("`1 ...2 ...3 ...`");
  });

  it("shows answers, streams, conversations and errors, and what they print", async () => {
    expect(await run("answers.js", answers, await serve())).toBe(printed);
  });

  it("shows how a file is sent", async () => {
    writeFileSync(join(folder, "cat.png"), new Uint8Array(5));
    expect(await run("upload.js", upload, await serve())).toBe("cat.png 5\n");
  });

  it("shows how a file is saved", async () => {
    expect(await run("save.js", save, await serve())).toBe("");
    expect([...readFileSync(join(folder, "hello.bin"))]).toEqual([0, 1, 2]);
  });

  it("shows a program that goes on where it was killed", async () => {
    const port = await serve();
    const known = (): number => JSON.parse(readFileSync(join(folder, "known.json"), "utf8")).generation;
    const isHalfDone = () => vi.waitFor(() => expect(known()).toBeGreaterThan(5), { timeout: 30_000 });
    const first = await run("resume.js", resume, port, isHalfDone);
    // The task and its first status precede the pieces.
    const noted = known() - 2;
    const rest = await run("resume.js", resume, port);
    const pieces = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${number} ...`);
    expect(first.startsWith(pieces.slice(0, noted).join(""))).toBe(true);
    expect(noted).toBeLessThan(9);
    expect(rest).toBe(pieces.slice(noted).join(""));
    expect(await run("resume.js", resume, port)).toBe("");
  });

  it("shows how a signature is verified", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    const key = {
      kid: "k",
      key: { ...(await crypto.subtle.exportKey("jwk", pair.privateKey)), alg: "ES256" },
    } as never;
    const { keys } = await publicKeysOf([key]);
    writeFileSync(join(folder, "trusted.json"), JSON.stringify(keys));
    const port = await serve({ cardSigning: { keys: [key] } });
    expect(await run("verify.js", verified, port)).toBe("Probe\n");
    expect(await run("verify.js", verified, await serve())).toContain("has no signature that is trusted: it has none.");
  });

  it("shows credentials", async () => {
    const check = (token: string) => (token === "a-newer-token" ? { owner: "me" } : undefined);
    const security = { schemes: { bearer: httpBearerScheme({ check }) } };
    expect(await run("credentials.js", credentials, await serve({ agent: { ...agent, security } }))).toBe("hi\n");
  });

  it("shows a webhook that takes notifications", async () => {
    const [port, webhook] = [await freePort(), await freePort()];
    const { privateKey } = generateKeyPairSync("ed25519");
    const signing = { keys: [{ kid: "k", key: privateKey.export({ type: "pkcs8", format: "pem" }) }] };
    const push = { signing, allowHttp: true, ports: [webhook], allow: ["localhost"] };
    await serve({ port, publicUrl: `http://localhost:${port}`, push });
    const hasCompleted = (said: () => string) => vi.waitFor(() => expect(said()).toMatch(/\n/), { timeout: 30_000 });
    const program = notified?.replaceAll("8090", `${webhook}`);
    expect(await run("notified.js", program, port, hasCompleted)).toBe("Completed. hello\n");
  });
});

describe("docs/client-connections.md", { timeout: 60_000 }, () => {
  it("lists every reason of an error", () => {
    const rows = pageText("docs/client-connections.md")
      .match(/^\| .*\|$/gm)
      ?.join("\n");
    expect(Object.keys(reasons).filter((reason) => !rows?.includes(`\`${reason}\``))).toEqual([]);
  });

  it("shows how an interface is chosen", async () => {
    expect(await run("preferring.js", preferring, await serve())).toBe(preferred);
  });
});
