import { afterEach, describe, expect, it } from "vitest";
import { Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { completed, inputRequired, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import type { ServerOptions } from "../../src/index.js";
import type { ServiceInterceptor } from "../../src/service/invoke.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { agentOf, Servers } from "../delegation/servers.js";
import { Receiver } from "../push/receiver.js";
import { seriesOf, sumOf } from "./read.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0).reverse()) await clean();
  await servers.close();
});

/** Names and values of W3C headers. The version and the end are of a later one. */
const traceparent = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-later";
const tracestate = "vendor=a:b, other@x=1";

type Heard = readonly [string | undefined, string | undefined];

const hears = (heard: Heard[]): ServiceInterceptor => {
  return (next) => (invocation) => {
    if (invocation.method.name.startsWith("Send")) {
      heard.push([invocation.call.header("traceparent"), invocation.call.header("tracestate")]);
    }
    return next(invocation);
  };
};

async function clientOf(url: string, options: Parameters<typeof connect>[1]): Promise<A2AClient> {
  const client = await connect(url, options);
  cleanup.push(() => client.close());
  return client;
}

async function scene(): Promise<{ url: string; heard: Heard[]; receiver: Receiver }> {
  const receiver = await Receiver.start();
  cleanup.push(() => receiver.stop());
  const heard: Heard[] = [];
  const sub = agentOf("Sub", async function* () {
    yield completed("done");
  });
  const remote = await servers.serve(sub, { interceptors: [hears(heard)] });
  const host = agentOf("Host", async function* (turn) {
    yield working("begun");
    const { text } = yield* turn.delegate("sub");
    yield completed(text);
  });
  const push: ServerOptions["push"] = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
  const { url } = await servers.serve(host, { remoteAgents: { sub: remote.url }, push });
  return { url, heard, receiver };
}

const message = (text: string) => ({
  messageId: text,
  role: Role.USER,
  parts: [{ content: { case: "text" as const, value: text } }],
});

describe("the trace of a call, without an SDK", () => {
  it.each(["GRPC", "CONNECT", "GRPC-WEB", "JSONRPC", "HTTP+JSON"] as const)(
    "goes unchanged from %s to the agents that are called and to webhooks",
    async (binding) => {
      const { url, heard, receiver } = await scene();
      const client = await clientOf(url, { bindings: [binding] });
      const configuration = { taskPushNotificationConfig: { url: receiver.url("/hook") } };
      const asked = { message: message("go"), configuration };
      await client.sendMessage(asked, { headers: { traceparent, tracestate } });
      await expect.poll(() => receiver.hits.at(-1)?.body).toContain("TASK_STATE_COMPLETED");
      expect(heard).toEqual([[traceparent, tracestate]]);
      const sent = receiver.hits.map(({ headers }) => headers.traceparent);
      expect(sent.length).toBeGreaterThanOrEqual(3);
      expect([...new Set(sent)]).toEqual([traceparent]);
      // Events of the agent are stored without it.
      expect(receiver.hits[0]?.headers.tracestate).toBe(tracestate);
    },
  );

  it("is not made up, and nothing that is not a trace is passed on", async () => {
    const { url, heard, receiver } = await scene();
    const client = await clientOf(url, { bindings: ["JSONRPC"] });
    const configuration = { taskPushNotificationConfig: { url: receiver.url("/hook") } };
    await client.sendMessage({ message: message("a"), configuration });
    const headers = { traceparent: "00-4bf92f35-secret", tracestate };
    await client.sendMessage({ message: message("b"), configuration }, { headers });
    await expect.poll(() => receiver.hits.filter(({ body }) => body.includes("COMPLETED")).length).toBe(2);
    expect(heard).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect(receiver.hits.filter(({ headers: { traceparent: sent } }) => sent !== undefined)).toEqual([]);
  });

  it("is that of the message which a turn answers, not of the one which began the task", async () => {
    const receiver = await Receiver.start();
    cleanup.push(() => receiver.stop());
    const asking = agentOf("Asking", async function* ({ text }) {
      yield text === "go" ? inputRequired("Which?") : completed("that");
    });
    const push: ServerOptions["push"] = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
    const { url } = await servers.serve(asking, { push });
    const client = await clientOf(url, { bindings: ["JSONRPC"] });
    const configuration = { taskPushNotificationConfig: { url: receiver.url("/hook") } };
    const first = await client.sendMessage(
      { message: message("go"), configuration },
      { headers: { traceparent, tracestate } },
    );
    const taskId = first.payload.case === "task" ? first.payload.value.id : "";
    const other = traceparent.replace("4bf9", "aaaa");
    await client.sendMessage({ message: { ...message("this"), taskId } }, { headers: { traceparent: other } });
    await expect.poll(() => receiver.hits.at(-1)?.body).toContain("TASK_STATE_COMPLETED");
    const sent = receiver.hits.map(({ body, headers }) => [/TASK_STATE_(\w+)/.exec(body)?.[1], headers.traceparent]);
    expect(sent).toEqual([
      ["SUBMITTED", traceparent],
      ["INPUT_REQUIRED", traceparent],
      ["COMPLETED", other],
    ]);
  });

  it("goes from an operator's call to the notification that it sends or causes, which is counted", async () => {
    const receiver = await Receiver.start();
    cleanup.push(() => receiver.stop());
    const asking = agentOf("Asking", async function* () {
      yield inputRequired("Which?");
    });
    const server = await servers.serve(asking, {
      metrics: true,
      admin: { listen: "127.0.0.1:0", tokens: operators },
      push: { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] },
    });
    const client = await clientOf(server.url, { bindings: ["JSONRPC"] });
    const configuration = { taskPushNotificationConfig: { id: "hook", url: receiver.url("/hook") } };
    const { payload } = await client.sendMessage({ message: message("go"), configuration });
    const taskId = payload.case === "task" ? payload.value.id : "";
    const attempts = async (): Promise<number> =>
      sumOf(await seriesOf(server), "parley_delivery_duration_seconds_count", { result: "accepted" });
    await expect.poll(attempts).toBe(2);
    const operate = async (path: string, body: object): Promise<void> => {
      const headers = { ...bearer(tokens.write), "content-type": "application/json", traceparent, tracestate };
      const url = `${server.adminUrl}/v1/tasks/${taskId}${path}`;
      expect((await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status).toBe(200);
    };
    await operate("/pushConfigs/hook:resend", { generation: 1 });
    await operate("/pushConfigs/hook:test", {});
    await operate(":cancel", {});
    await expect.poll(attempts).toBe(5);
    const sent = receiver.hits.map(({ headers }) => [headers.traceparent, headers.tracestate]);
    const [none, sends, cancel] = [
      [undefined, undefined],
      [traceparent, tracestate],
      [traceparent, undefined],
    ];
    expect(sent).toEqual([none, none, sends, sends, cancel]);
  });
});
