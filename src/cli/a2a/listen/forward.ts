import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isRecord, messageIn } from "../../../core/members.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import type { Context } from "../context.js";
import { Failure, usage } from "../errors.js";
import { field } from "../text.js";
import type { Arrival } from "./webhook.js";

/** Time for the target to answer, in milliseconds. */
const FORWARD_MS = 30_000;

/** A notification in a file, one in each line. */
export interface Recorded {
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly body: string;
}

/** Passes a notification on as it arrived. @throws Error unless the target takes it: then its sender tries again */
export async function forward(url: string, { headers, body }: Arrival, signal: AbortSignal): Promise<void> {
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
export async function replay(context: Context, file: string, url: string): Promise<void> {
  const { out, signal } = context;
  const token = context.own("token").at(-1) ?? context.io.env.A2ACLI_PUSH_TOKEN;
  let count = 0;
  let failed = 0;
  for await (const { headers, body } of recordsIn(file)) {
    count += 1;
    const own = { ...headers, ...(token !== undefined && { "x-a2a-notification-token": token }) };
    const status = await post(url, own, Buffer.from(body, "base64"), signal).catch((error: unknown) =>
      messageIn(error),
    );
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
