import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { StreamResponseSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { orAborted } from "../../../core/async.js";
import { isRecord, messageIn } from "../../../core/members.js";
import { credentialHeader, newToken } from "../../../push-receiver/arrival.js";
import type { PushEvent } from "../../../push-receiver/index.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import { type Context, ownOption, type Run } from "../context.js";
import { Failure, usage, usageOf } from "../errors.js";
import { fileBytes } from "../inputs.js";
import { httpUrl, wholeNumber } from "../kinds.js";
import { jsonOf } from "../output.js";
import { eventText, field } from "../text.js";
import { type Arrival, openWebhook } from "./webhook.js";

/** Time for the target to answer, in milliseconds. */
const FORWARD_MS = 30_000;

/** A notification in a file, one in each line. */
interface Recorded {
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly body: string;
}

/** `listen`: receives push notifications, verifies and prints them, and passes them on. */
export const run: Run = async (context) => {
  const { out, io, signal } = context;
  const target = ownOption(context, "forward", httpUrl);
  const from = context.own("replay").at(-1);
  if (from !== undefined) {
    if (target === undefined) throw usage("--replay needs the URL to send to (--forward)");
    return replay(context, resolve(io.cwd, from), target);
  }
  const trust = await trustOf(context);
  const to = context.own("record").at(-1);
  const file = to === undefined ? undefined : await open(resolve(io.cwd, to), "a", 0o600).catch(usageOf("--record: "));
  const url = ownOption(context, "url", httpUrl);
  const webhook = await openWebhook({
    host: context.own("host").at(-1) ?? "127.0.0.1",
    port: ownOption(context, "port", wholeNumber(0, 65_535)) ?? 0,
    path: ownOption(context, "path", path) ?? "/",
    url,
    trust,
    handle: async (event, arrival) => {
      print(context, event);
      await file?.write(`${JSON.stringify(recordOf(arrival))}\n`);
      if (target !== undefined) await forward(target, arrival, signal);
    },
    refused: (why) => out.warn(`refused: ${why}`),
  }).catch(usageOf("listen: ", "choose another --port or --host"));
  out.note(`Listening at ${webhook.url}`);
  try {
    await orAborted(new Promise<never>(() => {}), signal);
  } catch (error) {
    // Ctrl-C is the usual end of this command.
    if (!(error instanceof Failure && error.code === "PARLEY_ERR_INTERRUPTED")) throw error;
  } finally {
    await webhook.close();
    await file?.close();
  }
};

/** Reads the proofs that notifications need. Without any, a token is generated that the agent has to send. */
async function trustOf(context: Context) {
  const { io, out } = context;
  const tokens = [
    ...context.own("token"),
    ...(io.env.A2ACLI_PUSH_TOKEN === undefined ? [] : [io.env.A2ACLI_PUSH_TOKEN]),
  ];
  const files = context.own("secret-file");
  const secrets = await Promise.all(
    files.map(async (file) => String(await fileBytes(context, resolve(io.cwd, file), "--secret-file")).trim()),
  );
  const [servers, publicKeys] = [context.own("server"), context.own("public-key")];
  const isSigned = servers.length + secrets.length + publicKeys.length > 0;
  if (!isSigned && tokens.length === 0) {
    tokens.push(newToken());
    out.note(`Token: ${tokens[0]} (task push-config create … --token)`);
  }
  for (const secret of [...tokens, ...secrets]) out.redactor.add(secret);
  return {
    ...(servers.length > 0 && { servers }),
    ...(secrets.length > 0 && { secrets }),
    ...(publicKeys.length > 0 && { publicKeys }),
    ...(tokens.length > 0 && { tokens }),
    ...(!isSigned && { acceptUnsigned: true }),
  };
}

function print({ out }: Context, event: PushEvent): void {
  const { response, eventId, signatures, taskId } = event;
  const proof =
    signatures.map((each) => (each.kind === "jwt" ? `jwt of ${each.issuer}` : each.kind)).join(", ") || "token";
  if (out.mode.isJson) {
    const notification = jsonOf(StreamResponseSchema, response);
    return out.json({ receivedAt: new Date().toISOString(), taskId, eventId, proof, notification }, true);
  }
  out.text(
    `${field("Received", `${new Date().toISOString()} (${proof})`)}${eventText(response, out.mode.isVerbose).trimEnd()}\n\n`,
  );
}

/** Returns the record of a notification, without credentials: `--replay` takes the token from its own options. */
function recordOf({ headers, body }: Arrival): Recorded {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !credentialHeader.test(name)));
  return { at: new Date().toISOString(), headers: kept, body: body.toString("base64") };
}

/** Passes a notification on as it arrived. @throws Error unless the target takes it: then its sender tries again */
async function forward(url: string, { headers, body }: Arrival, signal: AbortSignal): Promise<void> {
  const status = await post(url, headers, body, signal);
  if (status < 200 || status > 299) throw new Error(`The target answers with status ${status}.`);
}

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  const answer = await fetch(url, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_MS)]),
  });
  await answer.body?.cancel();
  return answer.status;
}

/** Sends the notifications of a file again, in their order, and prints each answer. @throws Failure if one is not taken */
async function replay(context: Context, file: string, url: string): Promise<void> {
  const { out, signal } = context;
  const token = context.own("token").at(-1) ?? context.io.env.A2ACLI_PUSH_TOKEN;
  let count = 0;
  let failed = 0;
  for await (const { headers, body } of recordsIn(file)) {
    count += 1;
    const own = { ...headers, ...(token !== undefined && { "x-a2a-notification-token": token }) };
    const status = await post(url, own, Buffer.from(body, "base64"), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return messageIn(error);
    });
    if (typeof status === "string" || status > 299) failed += 1;
    if (out.mode.isJson) out.json({ number: count, status }, true);
    else out.text(field(`Notification ${count}`, String(status)));
  }
  if (failed > 0) throw new Failure("PARLEY_ERR_NOT_TAKEN", `${failed} of ${count} notifications were not taken.`);
}

async function* recordsIn(file: string): AsyncGenerator<Recorded, void, undefined> {
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      const record = parsedJson(text);
      const isRecorded = isRecord(record) && isRecord(record.headers) && typeof record.body === "string";
      if (!isRecorded) throw usage(`--replay: line ${line} of the file is not a notification`);
      yield record as unknown as Recorded;
    }
  } catch (error) {
    throw error instanceof Failure ? error : usage(`--replay: ${messageIn(error)}`);
  }
}

function path(text: string): string {
  if (!/^\/[\w./~-]*$/.test(text)) throw new Error("is not a path such as /hook");
  return text;
}
