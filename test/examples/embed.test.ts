import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { start as connectRouter } from "../../examples/embed/connect-router.js";
import { start as express } from "../../examples/embed/express.js";
import { start as expressBelow } from "../../examples/embed/express-below.js";
import { start as fastify } from "../../examples/embed/fastify.js";
import { start as fastifyBelow } from "../../examples/embed/fastify-below.js";
import type { Running } from "../../examples/embed/greeter.js";
import { start as grpcJs } from "../../examples/embed/grpc-js.js";
import { start as nodeHttp } from "../../examples/embed/node-http.js";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { freePort } from "../support/free-port.js";

let running: Running | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function started(start: (port: number) => Promise<Running>): Promise<string> {
  running = await start(0);
  return `http://localhost:${running.port}`;
}

/** The agent's answer to "Ann" over a transport. */
async function greeting(transport: Transport): Promise<unknown> {
  const client: Client<typeof A2AService> = createClient(A2AService, transport);
  const parts = [{ content: { case: "text" as const, value: "Ann" } }];
  const events = [];
  const stream = client.sendStreamingMessage({ message: { messageId: "m", role: Role.USER, parts } });
  for await (const { payload } of stream) events.push(payload);
  const update = events.find((payload) => payload.case === "artifactUpdate");
  return update?.value.artifact?.parts[0]?.content.value;
}

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "Ann" }] };
const hello = { artifacts: [{ parts: [{ text: "Hello Ann!" }] }], status: { state: "TASK_STATE_COMPLETED" } };

async function post(url: string, body: unknown, type = "application/json"): Promise<unknown> {
  const headers = { "content-type": type, "a2a-version": "1.0" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** Checks every binding of the HTTP handler. */
async function expectHttp(url: string): Promise<void> {
  expect(await greeting(createConnectTransport({ baseUrl: url, httpVersion: "1.1" }))).toBe("Hello Ann!");
  expect(await greeting(createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }))).toBe("Hello Ann!");
  for (const type of ["application/json", "application/a2a+json"]) {
    expect(await post(`${url}/message:send`, { message }, type)).toMatchObject({ task: hello });
  }
  const call = { jsonrpc: "2.0", id: 7, method: "SendMessage", params: { message } };
  expect(await post(url, call)).toMatchObject({ id: 7, result: { task: hello } });
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as {
    name: string;
    supportedInterfaces: { url: string }[];
  };
  expect(card.name).toBe("Greeter");
  expect(new Set(card.supportedInterfaces.map((entry) => entry.url))).toEqual(new Set([url]));
}

describe("an agent", () => {
  it("is the whole of a node:http server", async () => {
    const url = await started(nodeHttp);
    await expectHttp(url);
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  });

  it.each([
    ["Express", express],
    ["Fastify", fastify],
  ])("stands beside the routes of %s", async (_name, start) => {
    const url = await started(start);
    await expectHttp(url);
    expect(await (await fetch(url)).text()).toBe("An app of its own.");
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  });

  it.each([
    ["Express", expressBelow],
    ["Fastify", fastifyBelow],
  ])("stands below a path of %s, and its card at the root", async (_name, start) => {
    const port = await freePort();
    running = await start(port);
    const url = `http://localhost:${port}`;
    await expectHttp(`${url}/agents`);
    const headers = { "a2a-version": "1.0" };
    const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json();
    expect(card).toMatchObject({ supportedInterfaces: Array(3).fill({ url: `${url}/agents` }) });
    expect(await (await fetch(url)).text()).toBe("An app of its own.");
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    for (const path of ["/nowhere", "/message:send", "/agents/nowhere"]) {
      expect((await fetch(url + path, { method: "POST" })).status).toBe(404);
    }
  });

  it("is a service of a Connect router", async () => {
    const url = await started(connectRouter);
    expect(await greeting(createConnectTransport({ baseUrl: url, httpVersion: "1.1" }))).toBe("Hello Ann!");
  });

  it("is a service of a grpc-js server", async () => {
    const url = await started(grpcJs);
    expect(await greeting(createGrpcTransport({ baseUrl: url.replace("localhost", "127.0.0.1") }))).toBe("Hello Ann!");
  });
});
