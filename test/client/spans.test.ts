import * as api from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../src/client/client.js";
import type { Server } from "../../src/index.js";
import { traceParentOf } from "../../src/telemetry/w3c.js";
import { type RecordedSpan, registerRecorder, unregisterRecorder } from "../telemetry/recorder.js";
import { connect, serve } from "./world.js";

/** Kinds and status of spans in OpenTelemetry's API. */
const CLIENT = 2;
const ERROR = 2;

const bindings = ["GRPC", "CONNECT", "GRPC-WEB", "JSONRPC", "HTTP+JSON"] as const;

/** The system and the codes of success and of an unknown task, by binding. */
const codes: Readonly<Record<(typeof bindings)[number], readonly [string, string | undefined, string]>> = {
  GRPC: ["grpc", "OK", "NOT_FOUND"],
  CONNECT: ["connectrpc", undefined, "not_found"],
  "GRPC-WEB": ["grpc", "OK", "NOT_FOUND"],
  JSONRPC: ["jsonrpc", undefined, "-32001"],
  "HTTP+JSON": ["http_json", undefined, "404"],
};

const message = (text: string) => ({
  message: { messageId: `m ${text}`, role: Role.USER, parts: [{ content: { case: "text" as const, value: text } }] },
});

describe.each(bindings)("a client with telemetry over %s", (binding) => {
  let spans: RecordedSpan[];
  let server: Server;
  let client: A2AClient;
  /** `traceparent` of each call, as the server received it. */
  let sent: (string | undefined)[];
  beforeEach(async () => {
    spans = registerRecorder();
    sent = [];
    server = await serve({
      telemetry: false,
      interceptors: [
        (next) => (invocation) => {
          sent.push(invocation.call.header("traceparent"));
          return next(invocation);
        },
      ],
    });
    client = await connect(server.url, { bindings: [binding], telemetry: api });
  });
  afterEach(unregisterRecorder);

  const [system, success, notFound] = codes[binding];

  /** Returns the only span. Checks that the server received its id. */
  const onlySpan = (): RecordedSpan => {
    const [span] = spans;
    expect(span).toBeDefined();
    expect(spans).toHaveLength(1);
    // Over HTTP+JSON, a refused subscription is repeated with the other verb.
    expect([...new Set(sent)]).toEqual([traceParentOf(span!.spanContext())]);
    return span!;
  };

  it.each(["SendMessage", "SendStreamingMessage"])(
    "sends its span with a call, and describes it: %s",
    async (method) => {
      if (method === "SendMessage") await client.sendMessage(message("hello"));
      else for await (const _ of client.sendStreamingMessage(message("hello")));
      const { name, kind, attributes, status, ends, parentId } = onlySpan();
      expect({ name, kind, status, ends, parentId }).toEqual({
        name: method,
        kind: CLIENT,
        status: undefined,
        ends: 1,
        parentId: undefined,
      });
      expect(attributes).toMatchObject({
        "a2a.method.name": method,
        "a2a.protocol.version": "1.0",
        "a2a.message.id": "m hello",
        "a2a.task.id": expect.stringMatching(/./),
        "a2a.task.state": "TASK_STATE_COMPLETED",
        "gen_ai.agent.name": "Echo",
        "gen_ai.agent.version": "1.0.0",
        "gen_ai.conversation.id": expect.stringMatching(/./),
        "rpc.system.name": system,
        "rpc.method": `lf.a2a.v1.A2AService/${method}`,
        "server.address": "127.0.0.1",
        "server.port": binding === "GRPC" ? server.grpcPort : server.port,
      });
      expect(attributes["rpc.response.status_code"]).toBe(success);
      expect(attributes["error.type"]).toBeUndefined();
    },
  );

  it.each(["GetTask", "SubscribeToTask"])("fails its span with an error: %s", async (method) => {
    const id = "none";
    const calling =
      method === "GetTask"
        ? client.getTask({ id })
        : (async () => {
            for await (const _ of client.subscribeToTask({ id }));
          })();
    await expect(calling).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    const { name, attributes, status, ends } = onlySpan();
    expect({ name, status, ends }).toEqual({ name: method, status: { code: ERROR }, ends: 1 });
    expect(attributes).toMatchObject({
      "a2a.task.id": "none",
      "rpc.response.status_code": notFound,
      "error.type": notFound,
      "parley.error.reason": "TASK_NOT_FOUND",
    });
  });

  it("ends the span of a stream that its reader leaves, without an error", async () => {
    for await (const _ of client.sendStreamingMessage(message("wait"))) break;
    const { status, ends } = onlySpan();
    expect({ status, ends }).toEqual({ status: undefined, ends: 1 });
  });

  it("continues the trace that the caller gives in the headers", async () => {
    const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    await client.listTasks({}, { headers: { traceparent: `00-${traceId}-${spanId}-01` } });
    const span = onlySpan();
    expect([span.parentId, span.spanContext().traceId]).toEqual([spanId, traceId]);
  });
});
