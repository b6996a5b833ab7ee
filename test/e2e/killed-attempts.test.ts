import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { accept, Receiver, refuse } from "../push/receiver.js";
import { Home, type ServerProcess } from "./support/server-process.js";

const patience = { timeout: 60_000, interval: 50 };

let receiver: Receiver;
let home: Home;
let folder: string;

beforeEach(async () => {
  receiver = await Receiver.start(refuse(500));
  folder = mkdtempSync(join(tmpdir(), "parley-admin-"));
  const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
  home = new Home(...push, "--max-push-retry", "100ms", "--admin", `unix:${join(folder, "admin.sock")}`);
});

afterEach(async () => {
  await home.leave();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads from the operator's service over its socket. */
function read(path: string): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: join(folder, "admin.sock"), path }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve(JSON.parse(text) as JsonObject));
    });
    request.on("error", reject).end();
  });
}

async function order(server: ServerProcess): Promise<string> {
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "echo hello" }] };
  const taskPushNotificationConfig = { id: "hook", url: receiver.url("/hook") };
  const body = JSON.stringify({ message, configuration: { returnImmediately: true, taskPushNotificationConfig } });
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const answer = await fetch(`${server.url}/message:send`, { method: "POST", headers, body });
  return ((await answer.json()) as { task: { id: string } }).task.id;
}

describe("a server that is killed while a webhook fails", { timeout: 200_000 }, () => {
  it("still has every failed attempt that it showed, with the process that made it", async () => {
    const first = await home.start();
    const taskId = await order(first);
    const attempts = async (): Promise<JsonObject[]> =>
      ((await read(`/v1/tasks/${taskId}/pushConfigs/hook/attempts`)).attempts ?? []) as JsonObject[];
    await expect.poll(async () => (await attempts()).length, patience).toBeGreaterThan(2);
    const before = await attempts();
    await first.kill();
    receiver.answer = accept;
    await home.start();
    const delivered = async (): Promise<unknown> =>
      ((await read(`/v1/deliveries?taskId=${taskId}`)).deliveries as JsonObject[])[0]?.state;
    await expect.poll(delivered, patience).toBe("DELIVERY_STATE_IDLE");
    const after = await attempts();
    expect(before[0]).toMatchObject({ status: 500, answer: "no", failure: "the receiver answered 500" });
    for (const attempt of before) expect(after).toContainEqual(attempt);
    const holders = new Set(after.map(({ holder }) => holder));
    expect(holders.size).toBe(2);
  });
});
