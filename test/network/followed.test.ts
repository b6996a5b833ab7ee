import * as http from "node:http";
import { expect, it, vi } from "vitest";
import { MIB, settled, start, task } from "./child.js";
import { http1 } from "./raw-http.js";
import { cleanup, messageOf, until } from "./serve.js";

vi.setConfig({ testTimeout: 120_000 });

/** Together they are more than the heap. */
const TASKS = 16;
const HEAP_MIB = 96;

it("large tasks that wait for their clients are not kept in memory while they are followed [SRV-SEC-04]", async () => {
  const child = await start(HEAP_MIB);
  cleanup(() => child.end());
  const agent = new http.Agent();
  cleanup(() => agent.destroy());
  /** Follows a task, and says how much came and whether the stream is over. */
  const follow = async (id: string, headers: http.OutgoingHttpHeaders) => {
    const request = http.get({ port: child.port, path: `/tasks/${id}:subscribe`, agent, headers });
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on("response", resolve).on("error", reject);
    });
    expect(response.statusCode).toBe(200);
    const told = { bytes: 0, isOver: false, last: "" };
    response.on("data", (bytes: Buffer) => {
      told.bytes += bytes.length;
      if (bytes.length < 1024) told.last += bytes.toString();
    });
    response.on("end", () => {
      told.isOver = true;
    });
    return told;
  };

  const ids: string[] = [];
  for (let i = 0; i < TASKS; i++) ids.push(await task(child, `pause 7 ${MIB}`));
  const before = await settled(child);
  const generation = /^id: ?(\d+)/m;
  const followers: { readonly isOver: boolean; readonly last: string }[] = [];
  for (const id of ids) {
    const whole = await follow(id, {});
    await until(() => whole.bytes > 7 * MIB);
    const after = generation.exec(whole.last)?.[1] ?? "8";
    followers.push(whole, await follow(id, { "last-event-id": after }));
  }
  const held = (await settled(child)).held - before.held;
  expect(held, `${held / MIB} MiB`).toBeLessThan(40 * MIB);

  // They are told of what comes then, all the same.
  for (const id of ids.slice(0, 3)) {
    const body = JSON.stringify({
      message: { ...messageOf("done 1 3").message, taskId: id },
      configuration: { historyLength: 0 },
    });
    const json = { "content-type": "application/json" };
    const answer = await http1(child.port)({ path: "/message:send", headers: json, body });
    expect(answer.status).toBe(200);
    expect(answer.body.length).toBeGreaterThan(0);
  }
  await until(() => followers.slice(0, 6).every(({ isOver, last }) => isOver && last.includes("COMPLETED")));
  expect(followers.slice(6).some(({ isOver }) => isOver)).toBe(false);
  expect(child.ended()).toBe(false);
});
