import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { Receiver } from "../push/receiver.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { generationIn, logOf, settled, stateOf } from "./support/story.js";

const patience = { timeout: 120_000, interval: 100 };
const [binding] = bindings;

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

interface Body {
  readonly kind: string;
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

const textIn = ({ artifacts = [] }: Body): string =>
  artifacts.flatMap(({ parts }) => parts.map(({ text = "" }) => text)).join("");

/** Sends a message with a webhook as a client of 0.3. @returns id of its task */
async function order({ url }: ServerProcess, text: string, webhook: string): Promise<string> {
  const message = { kind: "message", messageId: webhook, role: "user", parts: [{ kind: "text", text }] };
  const configuration = { blocking: false, pushNotificationConfig: { url: webhook, token: "t" } };
  const body = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message, configuration } };
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return ((await answer.json()) as { result: Body }).result.id;
}

interface Update {
  readonly artifact: { readonly parts: readonly { readonly text?: string }[] };
  readonly append?: boolean;
}

/** The text of a task after each event of a stream, by generation. */
function textsOf(events: ReadonlyMap<number, JsonObject>): Map<number, string> {
  const texts = new Map<number, string>();
  let text = "";
  for (const [generation, event] of events) {
    const { artifactUpdate } = event as { artifactUpdate?: Update };
    const { artifact, append } = artifactUpdate ?? {};
    const piece = artifact?.parts.map(({ text: each = "" }) => each).join("") ?? "";
    if (artifact !== undefined) text = append === true ? text + piece : piece;
    texts.set(generation, text);
  }
  return texts;
}

describe("servers that are killed in the middle of deliveries to webhooks of 0.3", { timeout: 400_000 }, () => {
  it("have each get its task as of each event, in order, and repeats as they were", async () => {
    const receiver = await Receiver.start((_, response) => void setTimeout(() => response.writeHead(204).end(), 1));
    opened.push(() => receiver.stop());
    const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
    const limits = ["--max-deliveries-per-host", "32", "--max-deliveries-per-host-per-second", "100000"];
    const home = new Home(...push, ...limits, "--max-push-retry", "200ms", "--push-events", "task,status,artifact");
    opened.push(() => home.leave());
    const ids = new Map<string, string>();
    const rounds = 3;
    for (let round = 0; round < rounds; round++) {
      const server = await home.start();
      const before = receiver.hits.length;
      const orders = Array.from({ length: 8 }, async (_, i) => {
        const path = `/${round}-${i}`;
        ids.set(path, await order(server, "stream 40 16 5", receiver.url(path)));
      });
      await Promise.all(orders);
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 60 + 40 * round);
      await server.kill();
    }
    const server = await home.start();
    const driver = binding?.connect(server) as Driver;
    opened.push(async () => driver.close());
    expect(ids.size).toBe(rounds * 8);
    for (const [path, id] of ids) {
      const over = await settled(driver, id);
      const last = generationIn(over);
      await expect.poll(() => receiver.of(path).at(-1)?.generation, patience).toBe(last);
      const texts = textsOf((await logOf(driver, id)).events);
      const bodies = new Map<number, string>();
      let next = 1;
      for (const { generation, body, headers } of receiver.of(path)) {
        expect(headers).toMatchObject({ "content-type": "application/json", "x-a2a-notification-token": "t" });
        // The earlier notifications were accepted, and a repeated one is unchanged.
        expect(generation).toBeLessThanOrEqual(next);
        if (generation < next) expect(body).toBe(bodies.get(generation));
        else next++;
        bodies.set(generation, body);
      }
      expect(next).toBe(last + 1);
      for (const [generation, body] of bodies) {
        const task = JSON.parse(body) as Body;
        expect(task).toMatchObject({ kind: "task", id });
        expect(textIn(task)).toBe(texts.get(generation) ?? "");
      }
      const state = stateOf(over).replace("TASK_STATE_", "").toLowerCase();
      expect(JSON.parse(bodies.get(last) ?? "")).toMatchObject({ status: { state } });
    }
    expect(receiver.overlaps).toBe(0);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});
