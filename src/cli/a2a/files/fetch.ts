import type { FileHandle } from "node:fs/promises";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { messageIn } from "../../../core/members.js";
import { parseUrl, withoutSecrets } from "../../../core/net.js";
import { TargetGuard } from "../../../push/target/guard.js";
import { Failure } from "../errors.js";

/** Limits of one file: size in bytes, time in milliseconds. */
const fetchLimits = { maxBytes: 1_073_741_824, timeoutMs: 600_000, silenceMs: 30_000 };

interface Fetching {
  /** Hosts that may have an address that is not public. */
  readonly hosts: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Fetches the file that an agent names by a URL. It carries no credentials and follows no redirects, and connects to
 * public addresses only, because an agent must not reach the user's network.
 *
 * @throws Failure
 */
export async function fetchTo(url: string, file: FileHandle, { hosts, signal }: Fetching): Promise<void> {
  const parsed = parseUrl(url);
  if (!/^https?:$/.test(parsed?.protocol ?? "") || parsed?.username !== "" || parsed.password !== "") {
    throw fetchFailure(url, "only URLs of http and https without credentials are fetched");
  }
  const guard = new TargetGuard({ allowHttp: true, allow: hosts });
  try {
    // A name is checked by its look-up, an address here.
    guard.admit(parsed.hostname);
    const answer = await answerOf(parsed, guard, AbortSignal.any([signal, AbortSignal.timeout(fetchLimits.timeoutMs)]));
    if (answer.statusCode !== 200) throw fetchFailure(url, `the server answers with status ${answer.statusCode}`);
    let size = 0;
    for await (const chunk of answer) {
      size += (chunk as Buffer).length;
      if (size > fetchLimits.maxBytes) throw fetchFailure(url, `the file has more than ${fetchLimits.maxBytes} bytes`);
      await file.write(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error;
    throw fetchFailure(url, messageIn(error));
  }
}

function answerOf(url: URL, { lookup }: TargetGuard, signal: AbortSignal): Promise<IncomingMessage> {
  const { get } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const request = get(url, { lookup, signal, agent: false }, resolve);
    request.setTimeout(fetchLimits.silenceMs, () => request.destroy(new Error("the server is silent")));
    request.on("error", reject);
  });
}

function fetchFailure(url: string, why: string): Failure {
  return new Failure("PARLEY_ERR_NOT_SAVED", `${withoutSecrets(url)} cannot be fetched: ${why}.`, {
    hint: "a host of this network is fetched from with --fetch-host",
  });
}
