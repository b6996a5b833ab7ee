import type { A2AClient } from "../client/client.js";
import { clientError } from "../client/errors/errors.js";
import type { Reason } from "../core/error.js";
import { quoted, unknownId } from "./check.js";

/** Errors by which an agent shows that it is there. */
const alive: ReadonlySet<Reason> = new Set<Reason>(["TASK_NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED"]);

/** Asks for a task that does not exist. Returns why the answer does not show that the interface works. */
export async function faultOfPing(client: A2AClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.getTask({ id: unknownId() }, { signal });
    return "a task that does not exist was found";
  } catch (thrown) {
    const { reason, message } = clientError(thrown);
    return alive.has(reason) ? undefined : `${reason}: ${quoted(message)}`;
  }
}
