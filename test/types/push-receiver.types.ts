/*
 * Code of a webhook's owner, checked by the compiler alone. `npm run lint` fails if one of these lines has another
 * type, or if a line after `@ts-expect-error` compiles. None of this ever runs.
 */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import express from "express";
import { expectTypeOf } from "vitest";
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  createPushReceiver,
  type PushEvent,
  type PushMemory,
  PushRefusal,
  type PushRefusalCode,
  pushMemory,
  pushSecretOf,
} from "../../src/push-receiver/index.js";

const receiver = createPushReceiver({ servers: ["https://agents.example"], audience: "https://hooks.example/a2a" });

// A handler needs no annotation, and may be asynchronous or not.
const listener = receiver.handler((event) => {
  expectTypeOf(event).toEqualTypeOf<PushEvent>();
  expectTypeOf(event.generation).toEqualTypeOf<number | undefined>();
  expectTypeOf(event.order).toEqualTypeOf<"new" | "repeat" | "older">();
  const { payload } = event.response;
  if (payload.case === "statusUpdate") expectTypeOf(payload.value.status?.state).toEqualTypeOf<TaskState | undefined>();
  if (payload.case === "task") expectTypeOf(payload.value.artifacts.length).toEqualTypeOf<number>();
  for (const signature of event.signatures) {
    if (signature.kind === "jwt") expectTypeOf(signature.issuer).toEqualTypeOf<string>();
  }
  // @ts-expect-error nothing of an event can be changed
  event.taskId = "";
});

// It fits every server of Node.js, and the Fetch API.
createServer(listener);
createHttp2Server(listener);
express().post("/a2a", listener);
expectTypeOf(receiver.fetch(async () => {})).toEqualTypeOf<(request: Request) => Promise<Response>>();

export async function ownServer(
  request: Request,
  headers: Record<string, string | string[] | undefined>,
): Promise<void> {
  expectTypeOf(await receiver.receive(request)).toEqualTypeOf<PushEvent>();
  await receiver.receive({ headers, body: new Uint8Array() });
  await receiver.handled(await receiver.receive({ headers: request.headers, body: "{}" }));
  // @ts-expect-error a body that was parsed cannot be verified
  await receiver.receive({ headers, body: {} });
  expectTypeOf(await pushSecretOf("whsec_", "token")).toEqualTypeOf<string>();
}

// Lists, or functions that may take their time.
createPushReceiver({
  servers: [
    { url: "https://a.example", jwks: new URL("https://a.example/keys") },
    { url: "b", jwks: { keys: [{}] } },
  ],
  audience: ["https://hooks.example/a", "https://hooks.example/b"],
  secrets: async (token) => [await pushSecretOf("whsec_", token)],
  tokens: (token) => token === "a",
  authorization: async () => true,
  expects: ({ taskId, server }) => {
    expectTypeOf(server).toEqualTypeOf<string | undefined>();
    return taskId !== "";
  },
  memory: pushMemory(10),
});

// A memory of one's own needs both.
export const memory: PushMemory = {
  order: async ({ id, line, generation }) => (id === line && generation === 1 ? "repeat" : "new"),
  remember: ({ keepUntil }) => {
    expectTypeOf(keepUntil).toEqualTypeOf<number>();
  },
};
// @ts-expect-error
export const half: PushMemory = { order: () => "new" };
// @ts-expect-error the order does not exist
export const wrong: PushMemory = { order: () => "late", remember: () => {} };

// @ts-expect-error it is called servers
createPushReceiver({ server: ["https://agents.example"] });
// @ts-expect-error
createPushReceiver({ limits: { maxRequestBytes: 1 } });

expectTypeOf(new PushRefusal("gone", "").code).toEqualTypeOf<PushRefusalCode>();
// @ts-expect-error the code does not exist
new PushRefusal("later", "");
