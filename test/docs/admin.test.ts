import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromJsonString, getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.js";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { openWorld, tokens, type World } from "../admin/world.js";
import { blocksOf } from "./pages.js";

/** Runs every command of docs/admin.md in order, on a server whose task has a webhook. */

const text = readFileSync(new URL("../../docs/admin.md", import.meta.url), "utf8");
const lines = blocksOf("docs/admin.md")
  .filter(({ language }) => language === "sh")
  .flatMap(({ text }) => text.trim().split("\n"));
const curls = lines.filter((line) => line.startsWith("curl "));
const grpcurls = lines.filter((line) => line.startsWith("grpcurl "));

/** The requests in its commands and sentences, such as `GET tasks/ID`. */
const requests = [
  ...curls.map((line) => {
    const verb = line.includes("-X DELETE") ? "DELETE" : line.includes(" -d ") ? "POST" : "GET";
    return `${verb} ${/ "?\$A\/([^\s"?]+)/.exec(line)?.[1]}`;
  }),
  ...[...text.matchAll(/`(GET|POST|DELETE) (?:\/v1|\$A)\/([^`]+)`/g)].map(([, verb, path]) => `${verb} ${path}`),
].map((request) => request.replace(/\$(?:TASK|CONFIG)|\{id\}/g, "ID"));

/** Requires curl and bash in CI. Minimal systems have no curl, and Windows has no bash. */
const hasShell = process.env.CI !== undefined || spawnSync("bash", ["-c", "curl --version"]).status === 0;

let world: World;
let folder: string;
/** A webhook. */
const receiver = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end());
});
let hook = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  hook = `http://127.0.0.1:${port}/hook`;
  folder = mkdtempSync(join(tmpdir(), "parley-admin-"));
  const store = sqliteStore(join(folder, "parley.db"));
  world = await openWorld(
    { backupFolder: folder },
    {
      store,
      logger: { level: "info", debug() {}, info() {}, warn() {}, error() {} },
      push: {
        allowHttp: true,
        allow: ["127.0.0.1"],
        ports: [port],
      },
    },
  );
});
afterAll(async () => {
  await world.server.close();
  receiver.close();
  rmSync(folder, { recursive: true });
});

const CONFIG = "hook";

/** A task with a push configuration, still running or ended. */
async function taskOf(text: string): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: CONFIG, url: hook } };
  const headers = { "content-type": "application/json", "x-key": tokens.caller };
  const answer = await fetch(`${world.server.url}/message:send`, {
    method: "POST",
    headers,
    body: JSON.stringify({ message, configuration }),
  });
  const { task } = (await answer.json()) as { task: { id: string } };
  return task.id;
}

/** Runs a command and returns its output, with the HTTP status as the last line. */
async function typed(command: string, env: Record<string, string>): Promise<string> {
  // A stream does not end by itself.
  const most = command.includes("-N") ? 3 : 60;
  const measured = `curl() { command curl -sS --max-time ${most} -w '\\n%{http_code}\\n' "$@" || [ $? = 28 ]; }`;
  const child = spawn("bash", ["-c", `${measured}; ${command}`], { env: { ...process.env, ...env } });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.once("close", resolve));
  return output.trim();
}

describe("docs/admin.md", () => {
  it.skipIf(!hasShell).each(curls)("is answered as it says: %s", async (command) => {
    const asks = command.includes(":answer");
    const TASK = await taskOf(asks ? "ask which" : /:(?:cancel|fail|follow)/.test(command) ? "wait" : "echo hello");
    if (asks) await reached(TASK, /INPUT_REQUIRED/);
    if (command.includes(":resend")) await delivered(TASK);
    if (command.includes("-X DELETE $A/tasks/$TASK") && !command.includes("pushConfigs"))
      await reached(TASK, /COMPLETED|FAILED|CANCELED/);
    const [A, H] = [`${world.address}/v1`, `authorization: Bearer ${tokens.write}`];
    const typing = typed(command, { TASK, CONFIG, A, H });
    // The server sends the head of a stream with the first message.
    const changes = command.includes("tasks:follow") ? setInterval(() => void taskOf("echo hello"), 200) : undefined;
    const output = await typing;
    clearInterval(changes);
    expect(output.split("\n").at(-1), output).toBe("200");
  });

  it.each(grpcurls)("names a method and its fields: %s", (command) => {
    const [, name] = /parley\.admin\.v1\.AdminService\/(\w+)$/.exec(command) ?? [];
    const method = AdminService.methods.find((each) => each.name === name);
    expect(method).toBeDefined();
    const [, body = "{}"] = /-d '([^']*)'/.exec(command) ?? [];
    if (method !== undefined) fromJsonString(method.input, body);
  });

  it.each(AdminService.methods.map((method) => [method.name, method] as const))(
    "has a command or a sentence for %s",
    (_, method) => {
      const { case: verb = "", value: template } = getOption(method, http).pattern;
      const path = String(template)
        .replace("/v1/", "")
        .replace(/\{\w+=\*\}/g, "ID");
      expect(requests).toContain(`${verb.toUpperCase()} ${path}`);
    },
  );
});

/** Waits until a task's first event is delivered. */
async function delivered(id: string): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${tokens.read}` };
    const answer = await fetch(`http://${world.address}/v1/deliveries?taskId=${id}`, { headers });
    const { deliveries } = (await answer.json()) as { deliveries: { position?: number }[] };
    if ((deliveries[0]?.position ?? 0) > 0) return;
  }
}

/** Waits until a task has a state. */
async function reached(id: string, state: RegExp): Promise<void> {
  const headers = { "x-key": tokens.caller };
  for (;;) {
    const answer = await fetch(`${world.server.url}/tasks/${id}`, { headers });
    const { status } = (await answer.json()) as { status: { state: string } };
    if (state.test(status.state)) return;
  }
}
