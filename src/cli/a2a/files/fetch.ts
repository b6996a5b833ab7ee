import type { FileHandle } from "node:fs/promises";
import { Agent, request } from "undici";
import { messageIn } from "../../../core/members.js";
import { parseUrl, withoutSecrets } from "../../../core/net.js";
import { TargetGuard } from "../../../push/target/guard.js";
import { guardedConnector } from "../../../push/target/post.js";
import { Failure } from "../errors.js";

/** Limits of one file: size in bytes, time in milliseconds. */
const fetchLimits = { maxBytes: 1_073_741_824, timeoutMs: 600_000, silenceMs: 30_000 };

/** Options of fetching a file. */
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
    throw refused(url, "only URLs of http and https without credentials are fetched");
  }
  const guard = new TargetGuard({ allowHttp: true, allow: hosts });
  const { silenceMs, timeoutMs, maxBytes } = fetchLimits;
  const agent = new Agent({ connect: guardedConnector(guard, {}), headersTimeout: silenceMs, bodyTimeout: silenceMs });
  try {
    const answer = await request(url, {
      dispatcher: agent,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (answer.statusCode !== 200) throw refused(url, `the server answers with status ${answer.statusCode}`);
    let size = 0;
    for await (const chunk of answer.body) {
      size += (chunk as Buffer).length;
      if (size > maxBytes) throw refused(url, `the file has more than ${maxBytes} bytes`);
      await file.write(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error;
    throw refused(url, messageIn(error));
  } finally {
    await agent.destroy();
  }
}

function refused(url: string, why: string): Failure {
  return new Failure("PARLEY_ERR_NOT_SAVED", `${withoutSecrets(url)} cannot be fetched: ${why}.`, {
    hint: "a host of this network is fetched from with --fetch-host",
  });
}
