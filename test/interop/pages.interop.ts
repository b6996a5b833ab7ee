import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { blocksTyping, follow } from "../docs/shell.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { grpcurlProgram } from "./support/grpcurl.js";

const home = new Home();
let server: ServerProcess;
let cwd = "";
let grpcurl = "";
beforeAll(async () => {
  grpcurl = await grpcurlProgram();
  server = await home.start();
  cwd = mkdtempSync(join(tmpdir(), "parley-pages-"));
});
afterAll(async () => {
  await home.leave();
  rmSync(cwd, { recursive: true, force: true });
});

/** Creates a task with more than three events. */
async function someTask(): Promise<string> {
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "stream 3 5" }] };
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ message }) };
  const { task } = (await (await fetch(`${server.url}/message:send`, init)).json()) as { task: { id: string } };
  return task.id;
}

describe("what a page has its reader type for grpcurl", () => {
  it.each(blocksTyping(/^grpcurl /))("prints what it shows: %s", async (_, { commands }) => {
    const env = { PATH: [dirname(grpcurl), process.env.PATH].join(delimiter), TASK: await someTask() };
    const ports = { "8080": new URL(server.url).port, "50051": `${server.grpcPort}` };
    for (const command of commands) await follow(command, { cwd, ports, env });
  });
});
