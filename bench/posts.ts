/**
 * POSTs a second through the target guard and its poster, against a bare loop of undici's `request`, to one receiver in a process of
 * its own: `node --import tsx bench/posts.ts [callers] [ms]`. The two are measured by turns, and the ratio is the median of the
 * rounds. All of it stays on loopback, and ends after 14 times so many milliseconds.
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { defaultLimits } from "../src/core/limits.js";
import { createPoster } from "../src/push/target/post.js";
import { targetOf } from "../src/push/target/target-url.js";
import { median } from "./harness/rates.js";

const ROUNDS = 7;

const event = {
  statusUpdate: {
    taskId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
    contextId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c",
    status: {
      state: "TASK_STATE_WORKING",
      message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x".repeat(200) }] },
    },
  },
};
const body = JSON.stringify(event);
const headers = { "content-type": "application/a2a+json", authorization: "Bearer of-the-client", "a2a-version": "1.0" };

function receive(): void {
  const server = createServer((incoming, response) => {
    incoming.resume().on("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}

async function perSecond(call: () => Promise<unknown>, callers: number, ms: number): Promise<number> {
  const begin = performance.now();
  let calls = 0;
  const caller = async (): Promise<void> => {
    for (; performance.now() - begin < ms; calls++) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (calls / (performance.now() - begin)) * 1_000;
}

async function measure(callers: number, ms: number): Promise<void> {
  const receiver = fork(fileURLToPath(import.meta.url), { env: { ...process.env, PARLEY_BENCH_RECEIVER: "1" } });
  const port = await new Promise<number>((resolve) => receiver.once("message", (message) => resolve(Number(message))));
  const url = new URL(`http://127.0.0.1:${port}/hook`);
  const agent = new Agent({ connections: callers });
  const limits = { ...defaultLimits, maxDeliveriesPerHost: callers };
  const poster = createPoster({ allowHttp: true, ports: [port], allow: ["127.0.0.1"], limits });
  const bare = async (): Promise<void> => {
    const { body: answer } = await request(url, { method: "POST", headers, body, dispatcher: agent });
    await answer.dump();
  };
  const guarded = async (): Promise<void> => {
    const { kind } = await poster.post({ target: targetOf(url), headers, body, timeoutMs: 15_000 });
    if (kind !== "accepted") throw new Error(`a POST was ${kind}`);
  };
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [base, ours] = [await perSecond(bare, callers, ms), await perSecond(guarded, callers, ms)];
    // The first round warms up.
    if (round > 0) ratios.push(ours / base);
  }
  console.log(`${callers} callers: ${median(ratios).toFixed(2)} of a bare loop of undici, of ${ratios.length} rounds`);
  await Promise.all([poster.close(), agent.close()]);
  receiver.kill();
}

if (process.env.PARLEY_BENCH_RECEIVER === "1") receive();
else await measure(Number(process.argv[2] ?? 16), Number(process.argv[3] ?? 1_000));
