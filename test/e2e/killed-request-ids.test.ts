import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "./support/server-process.js";

const patience = { timeout: 60_000, interval: 50 };
const traceId = "0af7651916cd43dd8448eb211c80319c";

let home: Home;
beforeEach(() => {
  home = new Home("--access-log", "--log-format", "json", "--log-level", "debug");
});
afterEach(() => home.leave());

function post(server: ServerProcess, path: string, body: object, more: Record<string, string>): Promise<Response> {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", ...more };
  return fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

function linesOf(server: ServerProcess, requestId: string): Record<string, unknown>[] {
  const all = server.log.split("\n").filter((line) => line.startsWith("{"));
  return all.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line.requestId === requestId);
}

describe("a server that is killed while an agent works", { timeout: 200_000 }, () => {
  it("logs the execution that runs again by the id and the trace of the request that began it", async () => {
    const first = await home.start();
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "wait 60000" }] };
    const headers = { "x-request-id": "before-the-crash", traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const sent = await post(first, "/message:send", { message, configuration: { returnImmediately: true } }, headers);
    const { task } = (await sent.json()) as { task: { id: string } };
    await first.kill();
    const second = await home.start();
    const said = (): unknown[] => linesOf(second, "before-the-crash").map(({ msg, message: text }) => msg ?? text);
    await expect.poll(said, patience).toContain("an interrupted turn runs again");
    await post(second, `/tasks/${task.id}:cancel`, {}, { "x-request-id": "after-the-crash" });
    await expect.poll(said, patience).toContain("an execution ended");
    for (const line of linesOf(second, "before-the-crash")) {
      expect(line).toMatchObject({ traceId, taskId: task.id, agent: expect.any(String) });
    }
  });

  it("has the id of a refused request in its audit log, and in the answer", async () => {
    const path = join(home.store, "..", "audit.jsonl");
    const server = await home.start("--audit", path);
    const answer = await post(server, "/tasks/none:cancel", {}, { "x-request-id": "refused-1" });
    expect(answer.headers.get("x-request-id")).toBe("refused-1");
    const record = (): unknown =>
      readFileSync(path, "utf8")
        .split("\n")
        .find((line) => line.includes("refused-1"));
    await expect.poll(record, patience).toContain('"event":"access.denied"');
  });
});
