import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { importJWK, type JWK, SignJWT } from "jose";
import type { PushSigningOptions } from "../../src/push/options.js";
import { createPushSigner } from "../../src/push/signature/signer.js";
import {
  createPushReceiver,
  type JsonWebKeySet,
  type PushEvent,
  type PushHandler,
  type PushReceiver,
  type PushReceiverOptions,
} from "../../src/push-receiver/index.js";
import { type KeyPair, keyPair } from "../card/signing/keys.js";
import { newSecret, newWebhookKeys } from "../push/signature/keys.js";
import { afterEachTest } from "../support/clean-up.js";

export const issuer = "https://agents.example";
export const audience = "https://hooks.example/a2a";

const closing: Server[] = [];
afterEachTest(async () => {
  for (const server of closing.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

/** Listens on a free port until the test ends. Returns the URL. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  closing.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Keys and secrets that a server and its receivers share. */
export interface Trusting {
  readonly key: KeyPair;
  readonly secret: string;
  readonly webhookKeys: ReturnType<typeof newWebhookKeys>;
}

export const trusting: Trusting = { key: keyPair("ES256"), secret: newSecret(), webhookKeys: newWebhookKeys() };

export const jwksOf = (...keys: readonly [kid: string, key: KeyPair][]): JsonWebKeySet => ({
  keys: keys.map(([kid, { publicJwk, alg }]) => ({ ...publicJwk, kid, alg, use: "sig" })),
});

/** Everything that a Parley server can sign with. */
export const signing: PushSigningOptions = {
  keys: [{ key: trusting.key.pem, kid: "k1" }],
  webhookSecrets: [trusting.secret, trusting.webhookKeys.whsk],
  secretPer: "server",
};

/** Options with which a receiver trusts one kind of signature. */
export const trust = {
  jwt: { servers: [{ url: issuer, jwks: jwksOf(["k1", trusting.key]) }], audience },
  v1: { secrets: [trusting.secret] },
  v1a: { publicKeys: [trusting.webhookKeys.whpk] },
} as const satisfies Record<string, PushReceiverOptions>;

export type Kind = keyof typeof trust;
export const kinds = Object.keys(trust) as Kind[];

export const idOf = (taskId: string, configId: string, generation: number): string => {
  const hash = createHash("sha256").update(`${taskId}\0${configId}\0${generation}`).digest("base64url");
  return `evt_${hash.slice(0, 27)}`;
};

export interface Sent {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Values of a notification. */
export interface Facts {
  readonly taskId?: string;
  readonly configId?: string;
  readonly generation?: number;
  readonly time?: number;
  readonly token?: string;
  readonly url?: string;
  readonly text?: string;
  /** Default: a status of the task. */
  readonly body?: string;
}

export const bodyOf = (taskId: string, text: string): string =>
  JSON.stringify({
    statusUpdate: {
      taskId,
      contextId: "context-1",
      status: {
        state: "TASK_STATE_WORKING",
        message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text }] },
        timestamp: "2026-01-01T00:00:00.000Z",
      },
    },
  });

/** A notification as a Parley server sends it. */
export async function notification(by: PushSigningOptions | undefined, facts: Facts = {}): Promise<Sent> {
  const { taskId = "task-1", configId = "config-1", generation = 1, time = Date.now(), token = "" } = facts;
  const { url = `${audience}?who=1`, text = "ünïcode" } = facts;
  const { body = bodyOf(taskId, text) } = facts;
  const id = idOf(taskId, configId, generation);
  const signer = await createPushSigner({ signing: by, issuer: () => issuer });
  const signed = await signer.headers({ id, taskId, configId, generation, time, url, body, token });
  const headers = {
    "content-type": "application/a2a+json",
    ...(token !== "" && { "X-A2A-Notification-Token": token }),
    "Parley-Generation": String(generation),
    ...signed,
  };
  return { headers, body };
}

/** Signs a JWT with any key, header and claims. */
export async function jwtBy(jwk: object, header: object, claims: object): Promise<string> {
  const alg = (header as { alg: string }).alg;
  const key = await importJWK(jwk as JWK, alg);
  return new SignJWT(claims as never).setProtectedHeader(header as never).sign(key);
}

/** The claims of a notification, to be changed. */
export const claimsOf = ({ headers }: Sent): Record<string, unknown> =>
  JSON.parse(Buffer.from(headers["Parley-Signature"]?.split(".")[1] ?? "", "base64url").toString());

export interface Received {
  readonly receiver: PushReceiver;
  readonly url: string;
  readonly events: PushEvent[];
  /** Sends over HTTP; status and text of the answer. */
  readonly post: (
    sent: Partial<Sent> & { method?: string },
  ) => Promise<{ status: number; text: string; headers: Headers }>;
}

/** A webhook on a port, whose handler notes what it gets. */
export async function webhook(options: PushReceiverOptions, handle?: PushHandler): Promise<Received> {
  const receiver = createPushReceiver(options);
  const events: PushEvent[] = [];
  const noting: PushHandler = async (event) => {
    await handle?.(event);
    events.push(event);
  };
  const url = await listen(receiver.handler(noting));
  return { receiver, url, events, post: (sent) => post(url, sent) };
}

export async function post(
  url: string,
  { headers = {}, body, method = "POST" }: Partial<Sent> & { method?: string },
): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** Sends headers one after the other, so that one may be there twice; the status of the answer. */
export async function postRaw(
  url: string,
  headers: readonly (readonly [string, string])[],
  body: string,
): Promise<number> {
  const request = httpRequest(url, { method: "POST" });
  const names = new Set(headers.map(([name]) => name));
  for (const name of names)
    request.setHeader(
      name,
      headers.filter(([each]) => each === name).map(([, value]) => value),
    );
  request.end(body);
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}
